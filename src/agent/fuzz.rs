//! Access for the fuzz targets (`tests/fuzz`) to the private parts of this module. Compiled for
//! them only.

use super::transcript::Transcript;

/// Whatever a session prints: its progress messages have no control characters.
pub fn transcript(bytes: &[u8]) {
    let mut transcript = Transcript::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        match transcript.read_line(line, &str::to_owned) {
            Ok(doing) => assert!(doing.is_none_or(|doing| !doing.chars().any(char::is_control))),
            Err(_) => return,
        }
    }
}
