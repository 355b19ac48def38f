//! The head of a request: found the same in one piece or byte by byte, and whatever is accepted is safe to use.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::http::head::{Head, end_of};

fuzz_target!(|bytes: &[u8]| {
    let whole = end_of(bytes, 0);
    let by_pieces = (1..=bytes.len()).map(|end| end_of(&bytes[..end], end - 1)).find(|found| !matches!(found, Ok(None)));
    match (&whole, &by_pieces) {
        (Ok(Some(one)), Some(Ok(Some(other)))) => assert_eq!(one, other),
        (Ok(None), None) => {}
        // In pieces a head may be complete, or refused, before what comes after it spoils the whole.
        (_, Some(_)) => {}
        other => panic!("{other:?}"),
    }
    let Ok(Some(end)) = whole else { return };
    let Ok(head) = Head::parse(&bytes[..end]) else { return };
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
