//! Bodies of known length and in the chunked transfer coding (RFC 9112 section 7.1), decoded
//! without a socket.

use super::error::Refusal;
use super::head::Framing;

/// One chunk-size line with its extensions, bytes.
const CHUNK_LINE_BYTES: usize = 256;
/// All trailer lines of a chunked body, bytes; they are discarded.
const TRAILER_BYTES: usize = 4 * 1024;

/// Decodes a body that arrives in pieces. Of a chunked one extensions are skipped and trailers
/// discarded, both within bounds; everything else must be exactly as the RFC specifies.
#[derive(Debug)]
pub struct Decoder {
    state: State,
    is_chunked: bool,
    trailer_bytes: usize,
    max: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Data(usize),
    DataEnd,
    Trailer,
    Done,
}

impl Decoder {
    /// A decoder for a body of at most `max` bytes.
    ///
    /// # Errors
    /// [`Refusal::BODY_TOO_LARGE`] if its length is known to be above that.
    pub fn new(framing: Framing, max: usize) -> Result<Decoder, Refusal> {
        let state = match framing {
            Framing::None | Framing::Length(0) => State::Done,
            Framing::Length(length) if length > max => return Err(Refusal::BODY_TOO_LARGE),
            Framing::Length(length) => State::Data(length),
            Framing::Chunked => State::Size,
        };
        Ok(Decoder { state, is_chunked: framing == Framing::Chunked, trailer_bytes: 0, max })
    }

    /// Whether the body is complete.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Decodes `bytes`, appends the content to `body`, and gives the number of bytes consumed. What
    /// is not consumed is a line that has not ended yet, to be given again with what follows, or
    /// comes after the body.
    ///
    /// # Errors
    /// [`Refusal::BODY_TOO_LARGE`], or [`Refusal::malformed`] for anything but strict chunks.
    pub fn feed(&mut self, bytes: &[u8], body: &mut Vec<u8>) -> Result<usize, Refusal> {
        let mut rest = bytes;
        while !rest.is_empty() && self.state != State::Done {
            if let State::Data(left) = self.state {
                let (now, later) = rest.split_at(left.min(rest.len()));
                body.extend_from_slice(now);
                rest = later;
                self.state = match left - now.len() {
                    0 if self.is_chunked => State::DataEnd,
                    0 => State::Done,
                    more => State::Data(more),
                };
                continue;
            }
            let end = memchr::memchr(b'\n', rest).map(|end| end + 1);
            let bound = if self.state == State::Trailer { TRAILER_BYTES } else { CHUNK_LINE_BYTES };
            if end.unwrap_or(rest.len()) > bound {
                return Err(Refusal::malformed("a chunk's size line or trailer is too long"));
            }
            let Some(end) = end else { break };
            let (line, later) = rest.split_at(end);
            let line = line
                .strip_suffix(b"\r\n")
                .ok_or(Refusal::malformed("lines of a chunked body end with CR LF"))?;
            rest = later;
            self.state = self.after_line(line, body.len())?;
        }
        Ok(bytes.len() - rest.len())
    }

    fn after_line(&mut self, line: &[u8], have: usize) -> Result<State, Refusal> {
        // RFC 9112 section 7.1: chunk extensions and trailers are made of tokens, quoted strings
        // and field values.
        if line.iter().any(|&byte| byte < 0x20 && byte != b'\t' || byte == 0x7f) {
            return Err(Refusal::malformed("a chunk extension or trailer has a control character"));
        }
        match self.state {
            State::DataEnd if line.is_empty() => Ok(State::Size),
            State::DataEnd => Err(Refusal::malformed("a chunk is longer than its size")),
            State::Trailer if line.is_empty() => Ok(State::Done),
            State::Trailer => {
                self.trailer_bytes += line.len();
                if self.trailer_bytes > TRAILER_BYTES {
                    return Err(Refusal::malformed("the trailers are too long"));
                }
                Ok(State::Trailer)
            }
            // With `Data` and `Done` no line is read.
            State::Size | State::Data(_) | State::Done => match chunk_size(line)? {
                0 => Ok(State::Trailer),
                size if size > self.max.saturating_sub(have) => Err(Refusal::BODY_TOO_LARGE),
                size => Ok(State::Data(size)),
            },
        }
    }
}

/// Strict hex digits, then nothing or an extension after `;`.
fn chunk_size(line: &[u8]) -> Result<usize, Refusal> {
    let digits = line.split(|&byte| byte == b';').next().unwrap_or_default();
    let bad = Refusal::malformed("a chunk's size is not a hexadecimal number");
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(bad);
    }
    let digits = std::str::from_utf8(digits).map_err(|_| bad)?;
    // Does not fit into a `usize`: too large for every route.
    usize::from_str_radix(digits, 16).map_err(|_| Refusal::BODY_TOO_LARGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &[u8] = b"4\r\nWiki\r\n6;ext=\"a\"\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nX-T: v\r\n\r\nGET /next";

    #[test]
    fn a_body_is_the_same_wherever_it_is_cut() {
        for cut in 0..=GOOD.len() {
            let mut decoder = Decoder::new(Framing::Chunked, 1000).unwrap();
            let mut body = Vec::new();
            let mut used = decoder.feed(&GOOD[..cut], &mut body).unwrap();
            if !decoder.is_done() {
                used += decoder.feed(&GOOD[used..], &mut body).unwrap();
            }
            assert!(decoder.is_done());
            assert_eq!(body, b"Wikipedia in \r\n\r\nchunks.");
            assert_eq!(&GOOD[used..], b"GET /next", "the next request is left alone, cut at {cut}");
        }
    }

    #[test]
    fn anything_but_strict_chunks_is_refused() {
        for bad in [
            &b"\r\n"[..],
            b"g\r\n",
            b"+4\r\nWiki\r\n",
            b"0x4\r\nWiki\r\n",
            b"4 \r\nWiki\r\n",
            b" 4\r\nWiki\r\n",
            b"4\nWiki\r\n",
            b"4\r\nWikiX\r\n0\r\n\r\n",
            b"4\r\nWiki\n0\r\n\r\n",
            b"-1\r\n",
            b"fffffffffffffffff\r\n",
            b"7fffffffffffffff\r\n",
            b"0\r\n\n",
            b"1;a=\x01\r\n",
            b"1;a\rb\r\n",
            b"0\r\nX: a\x00b\r\n",
            b"0\r\nX: a\rY: b\r\n",
        ] {
            let mut decoder = Decoder::new(Framing::Chunked, 1000).unwrap();
            let mut body = Vec::new();
            assert!(decoder.feed(bad, &mut body).is_err(), "{:?}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn every_part_is_bounded() {
        let mut body = Vec::new();
        assert_eq!(
            Decoder::new(Framing::Chunked, 3).unwrap().feed(b"4\r\n", &mut body),
            Err(Refusal::BODY_TOO_LARGE)
        );
        assert!(
            Decoder::new(Framing::Chunked, 1000).unwrap().feed(&[b'1'; 400], &mut body).is_err(),
            "size digits without end"
        );
        let extension = [b"1;".to_vec(), vec![b'x'; 400]].concat();
        assert!(Decoder::new(Framing::Chunked, 1000).unwrap().feed(&extension, &mut body).is_err());
        let trailers = [b"0\r\n".to_vec(), b"a: b\r\n".repeat(2000)].concat();
        assert!(Decoder::new(Framing::Chunked, 1000).unwrap().feed(&trailers, &mut body).is_err());
    }
}
