//! HTML blocks that contain no Markdown.

/// Whether a line begins an HTML block that ends with the next blank line (CommonMark section 4.6,
/// conditions 6 and 7).
pub(super) fn begins_html(line: &str, follows_text: bool) -> bool {
    let Some(inner) = line.strip_prefix('<') else { return false };
    let name = inner.strip_prefix('/').unwrap_or(inner);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len());
    let (name, rest) = name.split_at_checked(end).unwrap_or_default();
    let is_block = !name.is_empty()
        && HTML_BLOCKS.split(' ').any(|block| block.eq_ignore_ascii_case(name))
        && (rest.is_empty() || rest.starts_with([' ', '\t', '>', '/']));
    // Any other tag has to be complete, and alone on a line that does not continue a paragraph.
    let is_tag = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && (rest.starts_with([' ', '\t', '>']) || rest == "/>");
    let is_alone = rest
        .trim_end()
        .strip_suffix('>')
        .is_some_and(|attributes| !attributes.contains(['<', '>']));
    is_block || !follows_text && is_tag && is_alone
}

/// The elements of condition 6.
const HTML_BLOCKS: &str = "address article aside base basefont blockquote body caption center col colgroup dd details \
     dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 \
     head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option \
     p param search section summary table tbody td tfoot th thead title tr track ul";
