//! The request head: parsed from bytes to a checked [`Head`].
//!
//! `httparse` knows the grammar; what it accepts and RFC 9112 or plain caution does not is refused
//! here, because requests get smuggled past a proxy where two programs read the same bytes
//! differently.

use super::error::Refusal;
use crate::limits;
use crate::slice::Part;

/// Header lines. Above it 431.
const HEADER_LINES: usize = 100;

/// How the body of a request ends (RFC 9112 section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// No body.
    None,
    /// Exactly this many bytes.
    Length(usize),
    /// `Transfer-Encoding: chunked`.
    Chunked,
}

/// A request head that obeys every rule of this module.
#[derive(Debug)]
pub struct Head {
    /// The method, as sent: a token.
    pub method: Box<str>,
    /// The path of the target, still percent-encoded, without the query.
    pub path: Box<str>,
    /// The query of the target, still encoded, without the question mark; empty when there is
    /// none.
    pub query: Box<str>,
    /// Whether the peer speaks HTTP/1.0, which knows no chunked coding.
    pub is_http_1_0: bool,
    fields: Vec<(Box<str>, Box<[u8]>)>,
    pub framing: Framing,
    /// Whether the peer wants the connection closed after this exchange.
    pub wants_close: bool,
    /// Whether the peer waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

impl Head {
    /// Parses the head at the start of `bytes`, and gives its length; `None` if it has not arrived
    /// whole.
    ///
    /// # Errors
    /// [`Refusal`] with the rule that was broken, in most cases before the head is complete.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, Refusal> {
        let mut slots = [httparse::EMPTY_HEADER; HEADER_LINES];
        let mut request = httparse::Request::new(&mut slots);
        let parsed = request.parse(bytes);
        let length =
            if let Ok(httparse::Status::Complete(length)) = parsed { length } else { bytes.len() };
        // RFC 9112 section 2.2: ignore at least one empty line before the request line. A few, not
        // many.
        let start = bytes.iter().take_while(|byte| b"\r\n".contains(byte)).count();
        if start > 8 {
            return Err(Refusal::malformed("empty lines instead of a request"));
        }
        if memchr::memchr_iter(b'\n', bytes.part(..length))
            .any(|at| !bytes.part(..at).ends_with(b"\r"))
        {
            return Err(Refusal::malformed("lines of a request end with CR LF"));
        }
        let line = bytes.part(start..);
        if memchr::memchr(b'\n', line).unwrap_or(line.len()) > limits::REQUEST_LINE_BYTES + 1 {
            return Err(Refusal::TARGET_TOO_LONG);
        }
        match parsed {
            Ok(_) if length > limits::HEAD_BYTES => return Err(Refusal::HEAD_TOO_LARGE),
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::Version) => return Err(Refusal::VERSION),
            Err(httparse::Error::TooManyHeaders) => return Err(Refusal::HEAD_TOO_LARGE),
            Err(_) => {
                return Err(Refusal::malformed("the request line or a header line is not valid"));
            }
        }
        let (Some(method), Some(target), Some(version)) =
            (request.method, request.path, request.version)
        else {
            return Err(Refusal::malformed("the request line is not complete"));
        };
        if !target.starts_with('/') || !target.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) {
            return Err(Refusal::malformed(
                "the request target is a path that starts with / and has no raw non-ASCII",
            ));
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut fields = Vec::with_capacity(request.headers.len());
        for field in request.headers.iter() {
            // RFC 9110 section 5.5: no control characters but tab; bytes above 0x7f are opaque and
            // stay.
            if field.value.iter().any(|&byte| byte < 0x20 && byte != b'\t' || byte == 0x7f) {
                return Err(Refusal::malformed("a header value has a control character"));
            }
            fields.push((field.name.into(), field.value.trim_ascii().into()));
        }
        let mut head = Head {
            method: method.into(),
            path: path.into(),
            query: query.into(),
            is_http_1_0: version == 0,
            fields,
            framing: Framing::None,
            wants_close: false,
            expects_continue: false,
        };
        head.check_host()?;
        head.framing = head.find_framing()?;
        head.wants_close = head.find_close();
        head.expects_continue = match (head.all("expect").count(), head.text("expect")) {
            (0, _) => false,
            (1, Some(value)) if value.eq_ignore_ascii_case("100-continue") => !head.is_http_1_0,
            _ => return Err(Refusal::EXPECTATION),
        };
        Ok(Some((head, length)))
    }

    /// RFC 9112 section 3.2: exactly one Host in HTTP/1.1, at most one in HTTP/1.0.
    fn check_host(&self) -> Result<(), Refusal> {
        match self.all("host").count() {
            1 => Ok(()),
            0 if self.is_http_1_0 => Ok(()),
            0 => Err(Refusal::malformed("the Host header is missing")),
            _ => Err(Refusal::malformed("there is more than one Host header")),
        }
    }

    /// RFC 9112 sections 6.1 to 6.3, without their leniencies: one plain length, or exactly
    /// `chunked`, never both.
    fn find_framing(&self) -> Result<Framing, Refusal> {
        match (self.single("content-length")?, self.single("transfer-encoding")?) {
            (None, None) => Ok(Framing::None),
            // A number too large for this machine is a body too large for every route.
            (Some(digits), None)
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                digits.parse().map(Framing::Length).map_err(|_| Refusal::BODY_TOO_LARGE)
            }
            (None, Some(coding)) if !self.is_http_1_0 && coding.eq_ignore_ascii_case("chunked") => {
                Ok(Framing::Chunked)
            }
            _ => Err(Refusal::malformed(
                "a body has one Content-Length, a number, or one Transfer-Encoding, chunked",
            )),
        }
    }

    /// RFC 9112 section 9.3: HTTP/1.1 stays open unless a header says otherwise. HTTP/1.0 is always
    /// closed; its keep-alive would have to be negotiated, and no client needs it.
    fn find_close(&self) -> bool {
        // A value that is not UTF-8 counts as close.
        let says_close = |value: &[u8]| {
            std::str::from_utf8(value).map_or(true, |value| {
                value.split(',').any(|part| part.trim().eq_ignore_ascii_case("close"))
            })
        };
        self.is_http_1_0 || self.all("connection").any(says_close)
    }

    /// All values of a header, in order, as bytes without surrounding white space. `name` in any
    /// case.
    pub fn all<'head>(&'head self, name: &'head str) -> impl Iterator<Item = &'head [u8]> {
        self.fields
            .iter()
            .filter(move |(field, _)| field.eq_ignore_ascii_case(name))
            .map(|(_, value)| &**value)
    }

    /// The first value of a header as text; `None` when it is absent or not UTF-8.
    pub fn text<'head>(&'head self, name: &'head str) -> Option<&'head str> {
        self.all(name).next().and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The value of a header that may occur once, as text; `None` when it is absent.
    ///
    /// # Errors
    /// When it is not UTF-8, or there is more than one.
    pub fn single<'head>(&'head self, name: &'head str) -> Result<Option<&'head str>, Refusal> {
        let mut values = self.all(name);
        let first = values.next().map(std::str::from_utf8).transpose();
        match (first, values.next()) {
            (Ok(value), None) => Ok(value),
            _ => {
                Err(Refusal::malformed("a header that may occur once occurs twice, or is not text"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Result<Head, Refusal> {
        Head::parse(text.as_bytes())
            .map(|parsed| parsed.unwrap_or_else(|| panic!("not complete: {text:?}")).0)
    }

    #[test]
    fn a_plain_request_is_read() {
        let head = whole(
            "POST /mcp?x=1 HTTP/1.1\r\nHost: a\r\nX-Two:  b \r\nx-two: c\r\nContent-Length: \
             5\r\n\r\n",
        )
        .unwrap();
        assert_eq!((&*head.method, &*head.path, &*head.query), ("POST", "/mcp", "x=1"));
        assert_eq!(head.framing, Framing::Length(5));
        assert_eq!(head.text("x-TWO"), Some("b"));
        assert_eq!(head.all("X-Two").count(), 2);
        assert!(!head.wants_close && !head.is_http_1_0);
    }

    /// Smuggling and confusion, one line each: what tiny_http let through and we do not.
    #[test]
    fn odd_heads_are_refused() {
        for (text, status) in [
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/1.1\nHost: a\n\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
            ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
            ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
            ("GET /\r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/1.1 extra\r\nHost: a\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\n folded: x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n Transfer-Encoding: chunked\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nName : x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: a\x07b\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: \
                 chunked\r\n\r\n",
                400,
            ),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 400),
            (
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: \
                 chunked\r\n\r\n",
                400,
            ),
            ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417),
            ("\r\n\r\n\r\n\r\n\r\n\r\n", 400),
        ] {
            let refusal = whole(text).err().unwrap_or_else(|| panic!("accepted: {text:?}"));
            assert_eq!(refusal.status, status, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_bounded_while_the_bytes_arrive() {
        assert_eq!(
            Head::parse(&vec![b'a'; limits::REQUEST_LINE_BYTES + 2]).err(),
            Some(Refusal::TARGET_TOO_LONG)
        );
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADER_LINES + 1));
        assert_eq!(whole(&many).err(), Some(Refusal::HEAD_TOO_LARGE));
        let wide = format!("GET / HTTP/1.1\r\na: {}", "b".repeat(limits::HEAD_BYTES));
        assert_eq!(Head::parse(wide.as_bytes()).err(), Some(Refusal::HEAD_TOO_LARGE));
    }

    #[test]
    fn the_end_is_found_wherever_the_bytes_are_cut() {
        let text = b"\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b";
        let expected = text.len() - 6;
        for cut in 0..=text.len() {
            let found = Head::parse(&text[..cut]).unwrap().map(|(_, length)| length);
            assert_eq!(found, (cut >= expected).then_some(expected), "cut at {cut}");
        }
    }

    #[test]
    fn opaque_bytes_in_a_value_are_kept() {
        let (head, _) =
            Head::parse(b"GET / HTTP/1.1\r\nHost: a\r\nX: caf\xe9\r\n\r\n").unwrap().unwrap();
        assert_eq!(head.all("x").next(), Some(&b"caf\xe9"[..]));
        assert_eq!(head.text("x"), None);
    }

    #[test]
    fn a_connection_header_that_cannot_be_read_closes() {
        assert!(
            Head::parse(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: \xff\r\n\r\n")
                .unwrap()
                .unwrap()
                .0
                .wants_close
        );
    }

    #[test]
    fn connection_options_decide_about_keeping_it() {
        for (text, close) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", false),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\n\r\n", true),
            ("GET / HTTP/1.0\r\n\r\n", true),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true),
        ] {
            assert_eq!(whole(text).unwrap().wants_close, close, "{text:?}");
        }
    }
}
