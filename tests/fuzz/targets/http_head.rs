//! The head of a request: found the same in one piece or byte by byte, and whatever is accepted is safe to use.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::http::head::Head;

fuzz_target!(|bytes: &[u8]| {
    let by_pieces = (0..=bytes.len()).map(|end| Head::parse(&bytes[..end])).find(|found| !matches!(found, Ok(None)));
    let Ok(Some((head, length))) = Head::parse(bytes) else { return };
    assert!(matches!(by_pieces, Some(Ok(Some((_, other)))) if other == length), "it depends on how it arrives");
    assert!(head.path.starts_with('/'), "{:?}", head.path);
    let plain = |text: &str| !text.bytes().any(|byte| byte <= b' ' || byte == 0x7f);
    assert!(plain(&head.path) && plain(&head.query));
    for name in ["host", "content-length", "transfer-encoding", "authorization", "origin", "accept"] {
        for value in head.all(name) {
            assert!(!value.iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)), "a value of several lines");
        }
        let _ = (head.text(name), head.single(name));
    }
});
