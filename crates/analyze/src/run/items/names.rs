//! Demangles kernel names: `_ZN2at6native29vectorized_elementwise_kernelILi4E…` becomes
//! `at::native::vectorized_elementwise_kernel`.
//!
//! Only the name itself is parsed, without template arguments and parameters, according to
//! the Itanium C++ ABI. Names that cannot be parsed stay unchanged.

/// The readable name of a kernel.
pub(in crate::run) fn kernel(raw: &str) -> String {
    match demangled(raw) {
        Some(name) => name,
        None => raw.to_owned(),
    }
}

fn demangled(raw: &str) -> Option<String> {
    let rest = raw.strip_prefix("_Z")?;
    let mut reader = Reader {
        bytes: rest.as_bytes(),
        at: 0,
    };
    let nested = reader.accept(b'N');
    while nested && matches!(reader.peek(), Some(b'K' | b'V' | b'r')) {
        reader.at += 1;
    }
    let mut parts: Vec<&str> = Vec::new();
    loop {
        match reader.peek() {
            Some(b'0'..=b'9') => {
                let name = reader.name()?;
                if !name.starts_with("_GLOBAL__N_") && !name.starts_with("_INTERNAL_") {
                    parts.push(name);
                }
            }
            Some(b'I') => reader.skip_nested()?,
            Some(b'L') => reader.at += 1,
            Some(b'S') if reader.bytes.get(reader.at + 1) == Some(&b't') => {
                reader.at += 2;
                parts.push("std");
            }
            _ => break,
        }
        if !nested && !parts.is_empty() && parts != ["std"] {
            break;
        }
    }
    (!parts.is_empty()).then(|| parts.join("::"))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.at += usize::from(is);
        is
    }

    fn number(&mut self) -> usize {
        let mut number = 0usize;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            number = number.saturating_mul(10);
            number = number.saturating_add(usize::from(digit - b'0'));
            self.at += 1;
        }
        number
    }

    /// A length, followed by that many bytes.
    fn name(&mut self) -> Option<&'a str> {
        let length = self.number();
        let end = self.at.checked_add(length)?;
        let name = self.bytes.get(self.at..end)?;
        self.at = end;
        std::str::from_utf8(name).ok()
    }

    /// Skips from an opening letter to its closing E.
    fn skip_nested(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            let byte = self.peek()?;
            if byte.is_ascii_digit() {
                self.name()?;
                continue;
            }
            self.at += 1;
            match byte {
                b'I' | b'N' | b'X' | b'J' | b'F' => depth += 1,
                b'L' => self.skip_literal()?,
                b'E' => depth = depth.checked_sub(1)?,
                b'S' | b'T' => self.skip_reference(),
                b'A' => {
                    self.number();
                    self.accept(b'_');
                }
                b'D' if self.accept(b'v') => {
                    self.number();
                    self.accept(b'_');
                }
                _ => {}
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Skips a literal template argument such as `Li4E`: its type, then digits up to E.
    fn skip_literal(&mut self) -> Option<()> {
        match self.peek()? {
            b'0'..=b'9' => {
                self.name()?;
            }
            b'N' => self.skip_nested()?,
            // Function arguments are not supported.
            b'_' => return None,
            _ => self.at += 1,
        }
        while self.peek()? != b'E' {
            self.at += 1;
        }
        self.at += 1;
        Some(())
    }

    /// Skips `S_`, `S1_`, `T0_`, or an abbreviation such as `St`.
    fn skip_reference(&mut self) {
        if self.peek().is_some_and(|byte| byte.is_ascii_lowercase()) {
            self.at += 1;
            return;
        }
        while self
            .peek()
            .is_some_and(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
        {
            self.at += 1;
        }
        self.accept(b'_');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mangled_names_are_demangled() {
        for (raw, name) in [
            ("_Z9saxpy_addifPfS_", "saxpy_add"),
            (
                "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
                "at::native::vectorized_elementwise_kernel",
            ),
            (
                "_ZN2at6native54_GLOBAL__N__d8ceb000_21_DistributionNormal_cu_0c5b6e8543distribution_elementwise_grid_stride_kernelIfLi4EEEvv",
                "at::native::distribution_elementwise_grid_stride_kernel",
            ),
            (
                "_ZN7cutlass6KernelINS_4gemm6kernel4GemmILi3EEEE3runEv",
                "cutlass::Kernel::run",
            ),
            ("_ZSt4swapIiEvRT_S1_", "std::swap"),
            ("_ZN3foo3barILNS_4KindE2EEEvv", "foo::bar"),
            ("triton_poi_fused_add_0", "triton_poi_fused_add_0"),
            ("sm90_xmma_gemm_f32f32", "sm90_xmma_gemm_f32f32"),
            ("_Z", "_Z"),
            ("_Z999x", "_Z999x"),
            ("_ZN3fooI", "_ZN3fooI"),
            ("_Z99999999999999999999999x", "_Z99999999999999999999999x"),
            ("", ""),
        ] {
            assert_eq!(kernel(raw), name, "{raw}");
        }
    }
}
