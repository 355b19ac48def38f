//! A chunked body: the same whether it comes in one piece or in two, never beyond its limit, never more taken than there is.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::http::body::Decoder;
use vault_sync_mcp::http::head::Framing;

const MAX: usize = 4096;

/// What became of it: the body, the bytes taken, whether it is done; `None` for one that is refused.
fn read(pieces: &[&[u8]]) -> Option<(Vec<u8>, usize, bool)> {
    let (mut chunked, mut body, mut taken, mut rest) = (Decoder::new(Framing::Chunked, MAX).unwrap(), Vec::new(), 0, Vec::new());
    for piece in pieces {
        rest.extend_from_slice(piece);
        while !chunked.is_done() {
            let more = chunked.feed(&rest, &mut body).ok()?;
            assert!(more <= rest.len());
            rest.drain(..more);
            taken += more;
            if more == 0 {
                break;
            }
        }
    }
    assert!(body.len() <= MAX);
    Some((body, taken, chunked.is_done()))
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&at, bytes)) = bytes.split_first() else { return };
    let (first, second) = bytes.split_at(usize::from(at).min(bytes.len()));
    assert_eq!(read(&[bytes]), read(&[first, second]));
});
