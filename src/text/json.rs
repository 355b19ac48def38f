//! Text as a JSON string (RFC 8259, section 7). A note that is read goes through here twice: as a member of the structured
//! result, and with that as the text for a model.

/// The text as a JSON string, with its quotes.
pub fn quoted(text: &str) -> String {
    let mut into = String::new();
    push_quoted(&mut into, text);
    into
}

/// The same, added to another text.
pub fn push_quoted(into: &mut String, text: &str) {
    into.reserve(text.len() + text.len() / 16 + 2);
    into.push('"');
    let mut rest = text;
    // What must be written in another way is ASCII, so a text is never cut within a character.
    while let Some((plain, after)) = rest.split_at_checked(plain(rest.as_bytes())) {
        into.push_str(plain);
        let mut chars = after.chars();
        match chars.next() {
            None => break,
            Some(c @ ('"' | '\\')) => into.extend(['\\', c]),
            Some('\n') => into.push_str("\\n"),
            Some('\t') => into.push_str("\\t"),
            Some('\r') => into.push_str("\\r"),
            Some('\u{8}') => into.push_str("\\b"),
            Some('\u{c}') => into.push_str("\\f"),
            Some(control) => {
                let digit = |number: u32| char::from_digit(number & 0xf, 16).unwrap_or('0');
                into.push_str("\\u00");
                into.extend([digit(u32::from(control) >> 4), digit(u32::from(control))]);
            }
        }
        rest = chars.as_str();
    }
    into.push('"');
}

/// How many bytes stand in a JSON string as they are, up to the first that does not. Eight are looked at together.
fn plain(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES * 0x80;
    let (blocks, rest) = bytes.as_chunks::<8>();
    for (number, block) in blocks.iter().enumerate() {
        let block = u64::from_le_bytes(*block);
        // The high bit of each byte below `least`; above the first such byte there may be others, by borrowing.
        let below = |bytes: u64, least: u64| bytes.wrapping_sub(ONES * least) & !bytes & HIGH;
        let is = |byte: u8| below(block ^ (ONES * u64::from(byte)), 1);
        let found = below(block, 0x20) | is(b'"') | is(b'\\');
        if found != 0 {
            return number * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let is_plain = |&byte: &u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    blocks.len() * 8 + rest.iter().position(|byte| !is_plain(byte)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::random::Random;

    /// Texts by chance, against another writer and through another reader.
    #[test]
    fn any_text_comes_back() {
        let letters: Vec<char> = (0..0x82_u8).map(char::from).chain("äß\u{7ff}\u{2028}\u{fffd}🎻".chars()).collect();
        let mut random = Random::new();
        let mut next = |end| random.below(end);
        for _ in 0..20_000 {
            let kinds = next(letters.len()) + 1;
            let mostly_plain = next(2) == 0;
            let text: String =
                (0..next(40)).map(|_| if mostly_plain && next(8) > 0 { 'x' } else { letters[letters.len() - 1 - next(kinds)] }).collect();
            assert_eq!(quoted(&text), serde_json::to_string(&text).unwrap(), "{text:?}");
            assert_eq!(serde_json::from_str::<String>(&quoted(&text)).unwrap(), text);
        }
    }

    #[test]
    fn each_byte_is_seen_wherever_it_stands() {
        for byte in 0..0x80_u8 {
            for position in 0..20 {
                let mut text = "é-".repeat(8);
                text.insert((0..=position).rev().find(|&at| text.is_char_boundary(at)).unwrap(), char::from(byte));
                assert_eq!(quoted(&text), serde_json::to_string(&text).unwrap(), "{byte} {position}");
            }
        }
    }
}
