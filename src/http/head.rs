//! The request head: from bytes to a checked [`Head`]. No socket in sight.
//!
//! `httparse` knows the grammar; what it lets through and RFC 9112 or plain caution does not is refused here, because
//! two programs that read one byte stream differently are how requests get smuggled past a proxy.

use super::error::Refusal;
use crate::limits;
use crate::slice::Part;
use std::ops::Range;

/// A request method. Everything that is not used here is [`Method::Other`] and ends in a 405.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET
    Get,
    /// HEAD: answered like GET, without the body.
    Head,
    /// POST
    Post,
    /// DELETE
    Delete,
    /// OPTIONS
    Options,
    /// Any other token.
    Other,
}

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
    bytes: Box<[u8]>,
    method: Method,
    target: Range<usize>,
    query: Option<Range<usize>>,
    http_1_0: bool,
    fields: Vec<(Range<usize>, Range<usize>)>,
    framing: Framing,
    close: bool,
    expects_continue: bool,
}

/// Finds the end of a head in bytes that arrive bit by bit, looking at each byte once.
#[derive(Debug, Default)]
pub struct HeadScanner {
    seen: usize,
    line_started: usize,
    lines: usize,
}

impl HeadScanner {
    /// Looks at what arrived since the last call; `bytes` starts where the request starts. Gives the length of the
    /// head once its empty line is there.
    ///
    /// # Errors
    /// As soon as the head cannot become a good one: too long, a line feed without a carriage return, empty lines
    /// that never end.
    pub fn scan(&mut self, bytes: &[u8]) -> Result<Option<usize>, Refusal> {
        while let Some(found) = memchr::memchr(b'\n', bytes.part(self.seen..)) {
            let newline = self.seen + found;
            let line = bytes.part(self.line_started..newline);
            let Some(line) = line.strip_suffix(b"\r") else {
                return Err(Refusal::Malformed("lines of a request end with CR LF"));
            };
            self.seen = newline + 1;
            self.line_started = self.seen;
            if line.is_empty() && self.lines > 0 {
                return if self.seen > limits::HEAD_BYTES { Err(Refusal::HeadTooLarge) } else { Ok(Some(self.seen)) };
            }
            if line.is_empty() {
                // RFC 9112 section 2.2: ignore at least one empty line before the request line. A few, not many.
                if self.seen > 8 {
                    return Err(Refusal::Malformed("empty lines instead of a request"));
                }
                continue;
            }
            if self.lines == 0 && line.len() > limits::REQUEST_LINE_BYTES {
                return Err(Refusal::TargetTooLong);
            }
            self.lines += 1;
            if self.lines > limits::HEADER_LINES + 1 {
                return Err(Refusal::HeadTooLarge);
            }
        }
        self.seen = bytes.len();
        if self.lines == 0 && self.seen - self.line_started > limits::REQUEST_LINE_BYTES {
            return Err(Refusal::TargetTooLong);
        }
        if self.seen > limits::HEAD_BYTES {
            return Err(Refusal::HeadTooLarge);
        }
        Ok(None)
    }
}

impl Head {
    /// Parses a complete head, empty line included.
    ///
    /// # Errors
    /// [`Refusal`] with the rule that was broken.
    pub fn parse(bytes: &[u8]) -> Result<Head, Refusal> {
        let mut slots = [httparse::EMPTY_HEADER; limits::HEADER_LINES];
        let mut request = httparse::Request::new(&mut slots);
        match request.parse(bytes) {
            Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
            Ok(_) => return Err(Refusal::Malformed("the request head is not complete")),
            Err(httparse::Error::Version) => return Err(Refusal::Version),
            Err(httparse::Error::TooManyHeaders) => return Err(Refusal::HeadTooLarge),
            Err(_) => return Err(Refusal::Malformed("the request line or a header line is not valid")),
        }
        let (Some(method), Some(target), Some(version)) = (request.method, request.path, request.version) else {
            return Err(Refusal::Malformed("the request line is not complete"));
        };
        if !target.starts_with('/') || !target.bytes().all(|byte| (0x21..=0x7e).contains(&byte)) {
            return Err(Refusal::Malformed("the request target is a path that starts with / and has no raw non-ASCII"));
        }
        let method = match method {
            "GET" => Method::Get,
            "HEAD" => Method::Head,
            "POST" => Method::Post,
            "DELETE" => Method::Delete,
            "OPTIONS" => Method::Options,
            _ => Method::Other,
        };
        let spot = |part: &[u8]| -> Range<usize> {
            let start = (part.as_ptr() as usize).saturating_sub(bytes.as_ptr() as usize);
            start..start + part.len()
        };
        let query = target.split_once('?').map(|(_, query)| spot(query.as_bytes()));
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        let mut fields = Vec::with_capacity(request.headers.len());
        for field in request.headers.iter() {
            // RFC 9110 section 5.5: no control characters but tab; bytes above 0x7f are opaque and stay.
            if field.value.iter().any(|&byte| byte < 0x20 && byte != b'\t' || byte == 0x7f) {
                return Err(Refusal::Malformed("a header value has a control character"));
            }
            fields.push((spot(field.name.as_bytes()), spot(field.value.trim_ascii())));
        }
        let mut head = Head {
            target: spot(path.as_bytes()),
            bytes: bytes.into(),
            method,
            query,
            http_1_0: version == 0,
            fields,
            framing: Framing::None,
            close: false,
            expects_continue: false,
        };
        head.check_host()?;
        head.framing = head.find_framing()?;
        head.close = head.find_close();
        head.expects_continue = match (head.all("expect").count(), head.text("expect")) {
            (0, _) => false,
            (1, Some(value)) if value.eq_ignore_ascii_case("100-continue") => !head.http_1_0,
            _ => return Err(Refusal::Expectation),
        };
        Ok(head)
    }

    /// RFC 9112 section 3.2: exactly one Host in HTTP/1.1, at most one in HTTP/1.0.
    fn check_host(&self) -> Result<(), Refusal> {
        match self.all("host").count() {
            1 => Ok(()),
            0 if self.http_1_0 => Ok(()),
            0 => Err(Refusal::Malformed("the Host header is missing")),
            _ => Err(Refusal::Malformed("there is more than one Host header")),
        }
    }

    /// RFC 9112 sections 6.1 to 6.3, without their leniencies: one plain length, or exactly `chunked`, never both.
    fn find_framing(&self) -> Result<Framing, Refusal> {
        let mut lengths = self.all("content-length");
        let mut codings = self.all("transfer-encoding");
        match (lengths.next(), codings.next()) {
            (None, None) => Ok(Framing::None),
            (Some(_), Some(_)) => Err(Refusal::Malformed("Content-Length and Transfer-Encoding exclude each other")),
            (Some(digits), None) => {
                if lengths.next().is_some() {
                    return Err(Refusal::Malformed("there is more than one Content-Length"));
                }
                if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
                    return Err(Refusal::Malformed("Content-Length is not a number"));
                }
                // A number too large for this machine is a body too large for every route.
                let length = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<usize>().ok());
                length.map(Framing::Length).ok_or(Refusal::BodyTooLarge)
            }
            (None, Some(coding)) => {
                if codings.next().is_some() || self.http_1_0 || !coding.eq_ignore_ascii_case(b"chunked") {
                    return Err(Refusal::Malformed("the only Transfer-Encoding known here is chunked"));
                }
                Ok(Framing::Chunked)
            }
        }
    }

    /// RFC 9112 section 9.3: HTTP/1.1 stays open unless a header says otherwise. HTTP/1.0 is always closed; its keep-alive would
    /// have to be negotiated, and no client needs it.
    fn find_close(&self) -> bool {
        // What cannot be read may say so.
        let says_close = |value: &[u8]| {
            std::str::from_utf8(value).map_or(true, |value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case("close")))
        };
        self.http_1_0 || self.all("connection").any(says_close)
    }

    /// The method.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The path of the target, still percent-encoded, without the query.
    pub fn path(&self) -> &str {
        self.slice(&self.target)
    }

    /// The query of the target, still encoded, without the question mark; empty when there is none.
    pub fn query(&self) -> &str {
        self.query.as_ref().map_or("", |range| self.slice(range))
    }

    /// Whether the peer speaks HTTP/1.0, which knows no chunked coding.
    pub fn is_http_1_0(&self) -> bool {
        self.http_1_0
    }

    /// How the body is framed.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Whether the peer wants the connection closed after this exchange.
    pub fn wants_close(&self) -> bool {
        self.close
    }

    /// Whether the peer waits for `100 Continue` before it sends the body.
    pub fn expects_continue(&self) -> bool {
        self.expects_continue
    }

    /// All values of a header, in order, as bytes without surrounding white space. `name` in any case.
    pub fn all<'head>(&'head self, name: &'head str) -> impl Iterator<Item = &'head [u8]> {
        self.fields.iter().filter_map(move |(field, value)| {
            let found = self.bytes.get(field.clone())?.eq_ignore_ascii_case(name.as_bytes());
            if found { self.bytes.get(value.clone()) } else { None }
        })
    }

    /// The first value of a header as text; `None` when it is absent or not UTF-8.
    pub fn text<'head>(&'head self, name: &'head str) -> Option<&'head str> {
        self.all(name).next().and_then(|value| std::str::from_utf8(value).ok())
    }

    /// The value of a header that may be there once, as text; `None` when it is absent.
    ///
    /// # Errors
    /// When it is not UTF-8, or there is more than one.
    pub fn single<'head>(&'head self, name: &'head str) -> Result<Option<&'head str>, Refusal> {
        let mut values = self.all(name);
        let first = values.next().map(std::str::from_utf8).transpose();
        match (first, values.next()) {
            (Ok(value), None) => Ok(value),
            _ => Err(Refusal::Malformed("a header that may be there once is there twice, or is not text")),
        }
    }

    fn slice(&self, range: &Range<usize>) -> &str {
        // Method, path and query were checked to be ASCII.
        self.bytes.get(range.clone()).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Result<Head, Refusal> {
        let mut scanner = HeadScanner::default();
        match scanner.scan(text.as_bytes())? {
            Some(length) => Head::parse(&text.as_bytes()[..length]),
            None => panic!("not complete: {text:?}"),
        }
    }

    #[test]
    fn a_plain_request_is_read() {
        let head = whole("POST /mcp?x=1 HTTP/1.1\r\nHost: a\r\nX-Two:  b \r\nx-two: c\r\nContent-Length: 5\r\n\r\n").unwrap();
        assert_eq!((head.method(), head.path(), head.query()), (Method::Post, "/mcp", "x=1"));
        assert_eq!(head.framing(), Framing::Length(5));
        assert_eq!(head.text("x-TWO"), Some("b"));
        assert_eq!(head.all("X-Two").count(), 2);
        assert!(!head.wants_close() && !head.is_http_1_0());
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
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417),
            ("\r\n\r\n\r\n\r\n\r\n\r\n", 400),
        ] {
            let refusal = whole(text).err().unwrap_or_else(|| panic!("accepted: {text:?}"));
            assert_eq!(refusal.status().0, status, "{text:?}");
        }
    }

    #[test]
    fn sizes_are_bounded_while_the_bytes_arrive() {
        let mut long_line = HeadScanner::default();
        assert_eq!(long_line.scan(&vec![b'a'; limits::REQUEST_LINE_BYTES + 1]), Err(Refusal::TargetTooLong));
        let many = format!("GET / HTTP/1.1\r\n{}", "a: b\r\n".repeat(limits::HEADER_LINES + 1));
        assert_eq!(HeadScanner::default().scan(many.as_bytes()), Err(Refusal::HeadTooLarge));
        let wide = format!("GET / HTTP/1.1\r\na: {}", "b".repeat(limits::HEAD_BYTES));
        assert_eq!(HeadScanner::default().scan(wide.as_bytes()), Err(Refusal::HeadTooLarge));
    }

    #[test]
    fn the_end_is_found_wherever_the_bytes_are_cut() {
        let text = b"\r\nGET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b";
        let expected = text.len() - 6;
        for cut in 0..=text.len() {
            let mut scanner = HeadScanner::default();
            let first = scanner.scan(&text[..cut]).unwrap();
            assert_eq!(first, (cut >= expected).then_some(expected), "cut at {cut}");
            if first.is_none() {
                assert_eq!(scanner.scan(text).unwrap(), Some(expected), "cut at {cut}");
            }
        }
    }

    #[test]
    fn opaque_bytes_in_a_value_are_kept() {
        let head = Head::parse(b"GET / HTTP/1.1\r\nHost: a\r\nX: caf\xe9\r\n\r\n").unwrap();
        assert_eq!(head.all("x").next(), Some(&b"caf\xe9"[..]));
        assert_eq!(head.text("x"), None);
    }

    #[test]
    fn a_connection_header_that_cannot_be_read_closes() {
        assert!(Head::parse(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: \xff\r\n\r\n").unwrap().wants_close());
    }

    #[test]
    fn connection_options_decide_about_keeping_it() {
        for (text, close) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", false),
            ("GET / HTTP/1.1\r\nHost: a\r\nConnection: foo, Close\r\n\r\n", true),
            ("GET / HTTP/1.0\r\n\r\n", true),
            ("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true),
        ] {
            assert_eq!(whole(text).unwrap().wants_close(), close, "{text:?}");
        }
    }
}
