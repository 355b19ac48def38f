//! Responses, how they become bytes, and how bytes are written to a peer that may be slow.

use super::error::Refusal;
use crate::clock::Deadline;
use crate::limits;
use std::borrow::Cow;
use std::fmt::Write;
use std::io::{self, ErrorKind, IoSlice, Write as _};
use std::net::TcpStream;
use std::time::{Duration, SystemTime};

/// Bytes per second below which a large response to a slow reader is aborted.
const WRITE_MIN_RATE: usize = 8 * 1024;

/// An answer to one request.
#[derive(Debug)]
pub struct Response {
    /// Status code.
    pub status: u16,
    headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl Response {
    /// An answer without a body.
    pub fn empty(status: u16) -> Response {
        Response { status, headers: Vec::with_capacity(8), body: Vec::new() }
    }

    /// An answer with a body of this media type.
    pub fn with(status: u16, media_type: &'static str, body: impl Into<Vec<u8>>) -> Response {
        let mut response = Response::empty(status).header("Content-Type", media_type);
        response.body = body.into();
        response
    }

    /// A JSON answer.
    pub fn json(status: u16, body: impl Into<Vec<u8>>) -> Response {
        Response::with(status, "application/json", body)
    }

    /// The answer to a request that the HTTP layer refuses.
    pub fn refusal(refusal: Refusal) -> Response {
        let mut response = Response::with(
            refusal.status,
            "text/plain; charset=utf-8",
            format!("{}\n", refusal.why),
        );
        response = response
            .header("X-Content-Type-Options", "nosniff")
            .header("Cache-Control", "no-store");
        if refusal == Refusal::BUSY {
            response = response.header("Retry-After", "1");
        }
        response
    }

    /// Adds a header line. Control characters but tab, and characters that are not ASCII, are
    /// dropped from the value: no value needs them, so one that has them is an attack or a mistake.
    pub fn header(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Response {
        let clean = |c: char| (' '..='~').contains(&c) || c == '\t';
        let value = value.into();
        let value = if value.chars().all(clean) {
            value
        } else {
            value.chars().filter(|&c| clean(c)).collect()
        };
        self.headers.push((name, value));
        self
    }

    /// Whether a header of this name was set.
    pub fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }
}

/// The head of a response as bytes: status line, Date, headers, Content-Length unless it is a
/// stream, `Connection: close` if asked for.
pub fn head_bytes(response: &Response, is_stream: bool, close: bool, now: SystemTime) -> Vec<u8> {
    let mut head = String::with_capacity(256);
    // Writing to a String cannot fail.
    let _ = write!(
        head,
        "HTTP/1.1 {} {}\r\nDate: {}\r\n",
        response.status,
        reason(response.status),
        httpdate::fmt_http_date(now)
    );
    for (name, value) in &response.headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    // RFC 9110 section 8.6: no Content-Length with 204 and 304.
    if !is_stream && response.status != 204 && response.status != 304 {
        let _ = write!(head, "Content-Length: {}\r\n", response.body.len());
    }
    if close {
        head.push_str("Connection: close\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Writes two pieces, in one system call where they fit. A peer that takes nothing for a while, or
/// too little for too long, is given up on. `progress` is called at the beginning and whenever the
/// peer has taken something.
pub(super) fn write_in_time(
    socket: &TcpStream,
    head: &[u8],
    body: &[u8],
    progress: impl Fn(),
) -> io::Result<()> {
    let total = head.len() + body.len();
    let deadline =
        Deadline::after(limits::WRITE_STALL + Duration::from_secs((total / WRITE_MIN_RATE) as u64));
    progress();
    let mut slices = [IoSlice::new(head), IoSlice::new(body)];
    let mut left = &mut slices[..];
    let mut unsent = total;
    while unsent > 0 {
        match (&*socket).write_vectored(left) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => {
                unsent = unsent.saturating_sub(count);
                if unsent > 0 {
                    IoSlice::advance_slices(&mut left, count);
                }
                progress();
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if unsent > 0 && deadline.left().is_none() {
            return Err(ErrorKind::TimedOut.into());
        }
    }
    Ok(())
}

/// Whether a response to this method carries its body (RFC 9110 section 9.3.2).
pub fn sends_body(method: &str, status: u16) -> bool {
    method != "HEAD" && status != 204 && status != 304
}

#[rustfmt::skip]
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK", 201 => "Created", 202 => "Accepted", 204 => "No Content", 303 => "See Other", 400 => "Bad Request",
        401 => "Unauthorized", 403 => "Forbidden", 404 => "Not Found", 405 => "Method Not Allowed", 406 => "Not Acceptable",
        408 => "Request Timeout", 413 => "Content Too Large", 414 => "URI Too Long", 415 => "Unsupported Media Type",
        417 => "Expectation Failed", 429 => "Too Many Requests", 431 => "Request Header Fields Too Large",
        500 => "Internal Server Error", 503 => "Service Unavailable", 505 => "HTTP Version Not Supported", _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn text(response: &Response, close: bool) -> String {
        String::from_utf8(head_bytes(response, false, close, UNIX_EPOCH)).unwrap()
    }

    #[test]
    fn a_header_value_cannot_split_the_response() {
        let response =
            Response::empty(303).header("Location", "a\r\nSet-Cookie: x=1\r\n\r\n<html>\0é");
        let head = text(&response, false);
        assert!(head.contains("Location: aSet-Cookie: x=1<html>\r\n"), "{head}");
        assert_eq!(head.matches("\r\n\r\n").count(), 1);
    }

    #[test]
    fn framing_follows_the_status() {
        let no_content = text(&Response::empty(204), false);
        assert!(!no_content.contains("Content-Length"), "{no_content}");
        let accepted = text(&Response::empty(202), true);
        assert!(accepted.contains("Content-Length: 0\r\nConnection: close\r\n"), "{accepted}");
        let json = text(&Response::json(200, "{}"), false);
        assert_eq!(
            json,
            "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: \
             application/json\r\nContent-Length: 2\r\n\r\n"
        );
    }
}
