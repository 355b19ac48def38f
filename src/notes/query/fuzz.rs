//! What the fuzz targets (`tests/fuzz`) check inside this module. Compiled for them only.

use super::base::Base;
use super::parse::{ParseContext, parse};

/// Any text is an expression or has a mistake at a position inside it; any text is a base or is
/// refused.
pub fn query(text: &str) {
    if let Err(wrong) = parse(text, &ParseContext::default()) {
        assert!(wrong.position <= text.chars().count());
    }
    let _ = Base::parse(text, 0, None);
}
