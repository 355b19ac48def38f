//! What a query reads.

use crate::calendar::Zone;
use crate::clock::Now;
use crate::vault::Vault;

/// What a query reads, and whom it asks whether to go on.
pub struct Source<'a> {
    pub vault: &'a Vault,
    pub zone: &'a Zone,
    pub now: Now,
    pub proceed: &'a dyn Fn(usize, usize) -> bool,
}
