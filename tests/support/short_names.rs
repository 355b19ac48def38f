//! A file system that ignores case and has short names, as FAT and SMB do: `OBSIDI~1` is
//! `.obsidian`, `private` is `Private`, and no list shows it. It is read only, and speaks just
//! enough of the kernel's FUSE protocol (7.31).

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Number, folder, name, short name, and text; a folder has none.
const FILES: [(u64, u64, &str, &str, Option<&str>); 8] = [
    (1, 0, "", "", None),
    (2, 1, ".obsidian", "OBSIDI~1", None),
    (3, 2, "app.json", "APP~1.JSO", Some("{\"secret\":true}")),
    (4, 1, "A long name.md", "ALONGN~1.MD", Some("a note\n")),
    (5, 1, "draft~1.md", "DRAFT~1.MD", Some("a draft\n")),
    (6, 1, "sub", "SUB", None),
    (7, 1, "Private", "PRIVATE", None),
    (8, 7, "s.md", "S.MD", Some("a secret\n")),
];

pub struct ShortNames(PathBuf);

impl ShortNames {
    /// Mounted at a folder; `None` where that is not allowed.
    pub fn mounted_at(on_disk: &Path) -> Option<ShortNames> {
        std::fs::create_dir_all(on_disk).unwrap();
        let device = File::options().read(true).write(true).open("/dev/fuse").ok()?;
        rustix::io::fcntl_setfd(&device, rustix::io::FdFlags::empty()).unwrap();
        let options =
            format!("ro,fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
        // The kernel asks for nothing before `mount` has returned.
        let mounted = Command::new("mount")
            .args(["-i", "-t", "fuse.short-names", "-o", &options, "none"])
            .arg(on_disk)
            .output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            return None;
        }
        std::thread::spawn(move || serve(device));
        Some(ShortNames(on_disk.to_owned()))
    }
}

impl Drop for ShortNames {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

fn serve(mut device: File) {
    let mut request = vec![0; 128 * 1024];
    while let Ok(length) = device.read(&mut request) {
        let request = &request[..length];
        let (opcode, node) = (number(request, 4, 4), number(request, 16, 8));
        let answer = match opcode {
            // FORGET, INTERRUPT and BATCH_FORGET have no answer.
            2 | 36 | 42 => continue,
            _ => answer(opcode, node, &request[40..]),
        };
        let (error, body) = match answer {
            Ok(body) => (0, body),
            Err(error) => (-error, Vec::new()),
        };
        let mut message = Vec::new();
        put(&mut message, &[(16 + body.len() as u64, 4), (error as u32 as u64, 4)]);
        message.extend_from_slice(&request[8..16]);
        message.extend_from_slice(&body);
        let _ = device.write(&message);
    }
}

fn answer(opcode: u64, node: u64, body: &[u8]) -> Result<Vec<u8>, i32> {
    const NOT_FOUND: i32 = 2;
    const NOT_IMPLEMENTED: i32 = 38;
    let mut out = Vec::new();
    match opcode {
        // INIT
        26 => {
            put(
                &mut out,
                &[
                    (7, 4),
                    (31, 4),
                    (0, 4),
                    (0, 4),
                    (0, 2),
                    (0, 2),
                    (4096, 4),
                    (1, 4),
                    (0, 2),
                    (0, 2),
                ],
            );
            out.resize(64, 0);
        }
        // LOOKUP
        1 => {
            let name = std::str::from_utf8(&body[..body.len() - 1]).unwrap();
            let found = FILES
                .iter()
                .find(|file| {
                    file.1 == node
                        && [file.2, file.3].iter().any(|known| known.eq_ignore_ascii_case(name))
                })
                .ok_or(NOT_FOUND)?;
            put(&mut out, &[(found.0, 8), (0, 8), (0, 8), (0, 8), (0, 4), (0, 4)]);
            attributes(&mut out, found.0);
        }
        // GETATTR
        3 => {
            put(&mut out, &[(0, 8), (0, 4), (0, 4)]);
            attributes(&mut out, node);
        }
        // OPEN, OPENDIR
        14 | 27 => put(&mut out, &[(0, 8), (0, 4), (0, 4)]),
        // READ
        15 => {
            let text = FILES
                .iter()
                .find(|file| file.0 == node)
                .and_then(|file| file.4)
                .unwrap_or_default();
            out.extend_from_slice(
                text.as_bytes().get(number(body, 8, 8) as usize..).unwrap_or_default(),
            );
        }
        // READDIR
        28 => {
            let inside = FILES.iter().filter(|file| file.1 == node && file.0 != 1).enumerate();
            for (at, file) in inside.skip(number(body, 8, 8) as usize) {
                put(
                    &mut out,
                    &[
                        (file.0, 8),
                        (at as u64 + 1, 8),
                        (file.2.len() as u64, 4),
                        (if file.4.is_some() { 8 } else { 4 }, 4),
                    ],
                );
                out.extend_from_slice(file.2.as_bytes());
                out.resize(out.len().next_multiple_of(8), 0);
            }
        }
        // RELEASE, RELEASEDIR, FLUSH, DESTROY, ACCESS
        18 | 29 | 25 | 38 | 34 => {}
        _ => return Err(NOT_IMPLEMENTED),
    }
    Ok(out)
}

fn attributes(out: &mut Vec<u8>, node: u64) {
    let text = FILES.iter().find(|file| file.0 == node).and_then(|file| file.4);
    let (size, mode) =
        (text.map_or(0, str::len) as u64, if text.is_some() { 0o100_644 } else { 0o40_755 });
    put(
        out,
        &[(node, 8), (size, 8), (1, 8), (1, 8), (1, 8), (1, 8), (0, 4), (0, 4), (0, 4), (mode, 4)],
    );
    put(out, &[(1, 4), (0, 4), (0, 4), (0, 4), (4096, 4), (0, 4)]);
}

/// Little-endian numbers of so many bytes, as on every machine this is tested on.
fn put(out: &mut Vec<u8>, numbers: &[(u64, usize)]) {
    numbers
        .iter()
        .for_each(|(number, bytes)| out.extend_from_slice(&number.to_le_bytes()[..*bytes]));
}

fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let mut number = [0; 8];
    number[..length].copy_from_slice(&bytes[at..at + length]);
    u64::from_le_bytes(number)
}
