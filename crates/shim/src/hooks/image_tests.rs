use super::*;

fn fat_binary(entries: &[(u16, u32)]) -> Vec<u8> {
    let mut body = Vec::new();
    for &(kind, architecture) in entries {
        let mut head = [0u8; 64];
        head[0..2].copy_from_slice(&kind.to_le_bytes());
        head[4..8].copy_from_slice(&64u32.to_le_bytes());
        head[8..16].copy_from_slice(&8u64.to_le_bytes());
        head[28..32].copy_from_slice(&architecture.to_le_bytes());
        body.extend(head);
        body.extend([0xaa; 8]);
    }
    let mut all = FAT.to_le_bytes().to_vec();
    all.extend([1, 0, 16, 0]);
    all.extend((body.len() as u64).to_le_bytes());
    all.extend(body);
    all
}

fn read(bytes: &[u8], here: u16) -> Image {
    // SAFETY: the tests pass valid code.
    unsafe { code(bytes.as_ptr(), here) }
}

#[test]
fn a_fat_binary_has_machine_code_and_ptx() {
    let binary = fat_binary(&[(2, 80), (2, 90), (2, 90), (1, 90), (7, 30)]);
    let image = read(&binary, 90);
    assert_eq!(image.bytes, binary.len() as u64);
    assert_eq!(image.machine_code, [80, 90, 0, 0, 0, 0, 0, 0]);
    assert_eq!(image.ptx, [90, 0, 0, 0]);
}

#[test]
fn a_pointer_to_a_fat_binary_is_followed() {
    let binary = fat_binary(&[(2, 75)]);
    let pointer = [u64::from(POINTER) | 1 << 32, binary.as_ptr() as u64, 0];
    // SAFETY: it is a valid pointer to a fat binary.
    let image = unsafe { code(pointer.as_ptr().cast(), 0) };
    assert_eq!(image.machine_code[0], 75);
}

#[test]
fn the_architectures_nearest_to_the_device_are_kept() {
    let all = [50, 60, 70, 75, 80, 86, 89, 90, 100, 101, 103, 120, 121];
    let entries: Vec<(u16, u32)> = all.iter().map(|&one| (2, one)).collect();
    let binary = fat_binary(&entries);
    assert!(read(&binary, 75).machine_code.contains(&75));
    assert!(read(&binary, 121).machine_code.contains(&121));
    assert!(read(&binary, 52).machine_code.contains(&50));
}

#[test]
fn implausible_sizes_are_rejected() {
    let mut binary = fat_binary(&[(2, 80), (2, 90)]);
    binary[16 + 4..16 + 8].copy_from_slice(&1_000_000u32.to_le_bytes());
    assert_eq!(read(&binary, 0), Image::default());
    let mut binary = fat_binary(&[(2, 80)]);
    binary[16 + 8..16 + 16].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(read(&binary, 0), Image::default());
    let mut binary = fat_binary(&[(2, 80)]);
    binary[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(read(&binary, 0), Image::default());
    let binary = fat_binary(&[(2, 80_000)]);
    assert_eq!(read(&binary, 0).machine_code, [0; 8]);
    // SAFETY: null is allowed.
    assert_eq!(unsafe { code(std::ptr::null(), 0) }, Image::default());
}

#[test]
fn the_architecture_of_machine_code_is_read_in_either_layout() {
    for (version, flags) in [(7u8, 0x0050_055au32), (8, 0x0000_5a04)] {
        let mut elf = [0u8; 64];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[4] = 2;
        elf[8] = version;
        elf[18] = 190;
        elf[40..48].copy_from_slice(&1000u64.to_le_bytes());
        elf[48..52].copy_from_slice(&flags.to_le_bytes());
        elf[58] = 64;
        elf[60] = 3;
        let image = read(&elf, 0);
        assert_eq!(image.machine_code[0], 90);
        assert_eq!(image.bytes, 1192);
    }
    let mut other = [0u8; 64];
    other[..4].copy_from_slice(b"\x7fELF");
    assert_eq!(read(&other, 0), Image::default());
}

#[test]
fn the_target_of_ptx_is_read() {
    let text = b"//\n.version 8.0\n.target sm_90a, texmode_independent\n.address_size 64\n\0";
    let image = read(text, 0);
    assert_eq!(image.ptx, [90, 0, 0, 0]);
    assert_eq!(image.bytes, text.len() as u64 - 1);
    assert_eq!(read(b".target nothing\0", 0).ptx, [0; 4]);
    assert_eq!(read(b".target sm_99999999999999\0", 0).ptx, [0; 4]);
    assert_eq!(read(b"ab\0", 0).bytes, 2);
    assert_eq!(read(b"\0", 0), Image::default());
}
