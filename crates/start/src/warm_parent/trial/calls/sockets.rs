//! Calls on sockets: acts, unless they reach nobody.

use libc::c_int;

use super::{Call, Meaning, acts};
use crate::warm_parent::ledger::Question;
use crate::warm_parent::trial::tracee;

/// The meaning of a call on sockets; `None` for other calls.
pub(super) fn meaning(call: &Call) -> Option<Meaning> {
    let [first, second, third, ..] = call.arguments;
    let meaning = match call.number {
        libc::SYS_connect => call.connects(second),
        libc::SYS_bind => call.binds(second),
        libc::SYS_sendto if call.arguments[4] != 0 => acts("sends to a socket"),
        libc::SYS_sendmsg => call.sends_message(second),
        libc::SYS_sendmmsg => acts("sends to a socket"),
        libc::SYS_socket => opens_socket(first),
        libc::SYS_setsockopt => changes_socket(second, third),
        libc::SYS_listen | libc::SYS_accept | libc::SYS_accept4 => acts("listens on a socket"),
        _ => return None,
    };
    Some(meaning)
}

impl Call {
    /// Sending a message without an address only reaches sockets of this process: connecting to
    /// others is an act.
    fn sends_message(&self, message: u64) -> Meaning {
        // The address is the first field.
        match tracee::number(self.process, message) {
            Some(0) => Meaning::Nothing,
            _ => acts("sends to a socket"),
        }
    }

    /// Connecting to a missing local socket only asks for its presence; the C library does
    /// this to find a daemon.
    fn connects(&self, address: u64) -> Meaning {
        let head = tracee::bytes(self.process, address, 2);
        if head == (libc::AF_UNIX as u16).to_ne_bytes()
            && let Some(path) = self.path(libc::AT_FDCWD, address + 2)
            && !path.exists()
        {
            return Meaning::Asks(vec![(path, Question::Presence)]);
        }
        acts("connects to a socket")
    }

    /// Libraries bind any port of the loopback interface to test for IPv6. Sockets that stay
    /// open are found later.
    fn binds(&self, address: u64) -> Meaning {
        let bytes = tracee::bytes(self.process, address, 24);
        let family = bytes
            .get(..2)
            .map(|two| u16::from_ne_bytes([two[0], two[1]]));
        let is_any_port = bytes.get(2..4) == Some(&[0, 0]);
        let is_loopback = match family.map(c_int::from) {
            Some(libc::AF_INET) => bytes.get(4) == Some(&127),
            Some(libc::AF_INET6) => {
                bytes.get(8..24) == Some(&std::net::Ipv6Addr::LOCALHOST.octets()[..])
            }
            _ => false,
        };
        if is_any_port && is_loopback {
            return Meaning::Asks(vec![(
                "/proc/sys/net/ipv6/conf/lo/disable_ipv6".into(),
                Question::Content,
            )]);
        }
        acts("binds a socket")
    }
}

/// Sockets of the first families reach nobody before they are connected or bound. A netlink
/// socket reaches the kernel.
fn opens_socket(family: u64) -> Meaning {
    match family as c_int {
        libc::AF_UNIX | libc::AF_INET | libc::AF_INET6 => Meaning::Nothing,
        libc::AF_NETLINK => acts("opens a netlink socket"),
        family => acts(&format!("opens a socket of family {family}")),
    }
}

/// Options of other levels may join a multicast group, or change a firewall.
fn changes_socket(level: u64, option: u64) -> Meaning {
    match (level as c_int, option as c_int) {
        (libc::SOL_SOCKET | libc::IPPROTO_TCP, _) | (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) => {
            Meaning::Nothing
        }
        _ => acts("configures a socket"),
    }
}

#[cfg(test)]
mod tests {
    use crate::warm_parent::trial::calls::tests::{is_act, number};

    #[test]
    fn sending_is_an_act_where_an_address_is_given() {
        let name = b"listens";
        // SAFETY: zeroes are a valid value of this struct of numbers and pointers.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        let at = |message: &libc::msghdr| [3, std::ptr::from_ref(message) as u64, 0, 0, 0, 0];
        assert!(!is_act(libc::SYS_sendmsg, at(&message)));
        message.msg_name = name.as_ptr().cast_mut().cast();
        assert!(is_act(libc::SYS_sendmsg, at(&message)));
        // It cannot be read.
        assert!(is_act(libc::SYS_sendmsg, [3, 8, 0, 0, 0, 0]));
        assert!(is_act(libc::SYS_sendmmsg, at(&message)));
        let address = name.as_ptr() as u64;
        assert!(is_act(libc::SYS_sendto, [3, address, 1, 0, address, 9]));
        assert!(!is_act(libc::SYS_sendto, [3, address, 1, 0, 0, 0]));
    }

    #[test]
    fn netlink_sockets_and_multicast_are_acts() {
        let socket = |family| is_act(libc::SYS_socket, [number(family), 2, 0, 0, 0, 0]);
        assert!(socket(libc::AF_NETLINK) && !socket(libc::AF_INET6));
        let option = |level, option| {
            let (level, option) = (number(level), number(option));
            is_act(libc::SYS_setsockopt, [3, level, option, 0, 0, 0])
        };
        assert!(option(libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP));
        assert!(!option(libc::SOL_SOCKET, libc::SO_REUSEADDR));
    }
}
