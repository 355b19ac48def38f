//! Where an answer comes from.

use crate::calendar::Zone;
use crate::clock::Now;
use crate::vault::Vault;

/// Where an answer comes from, and who waits for it.
pub struct Source<'a> {
    pub vault: &'a Vault,
    pub zone: &'a Zone,
    pub now: Now,
    pub proceed: &'a dyn Fn(usize, usize) -> bool,
}
