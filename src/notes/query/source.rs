//! What a query reads.

use crate::calendar::Zone;
use crate::clock::Moment;
use crate::links::Links;
use crate::vault::Vault;

/// What a query reads, and the function that reports progress and says whether to continue.
pub struct Source<'a> {
    pub vault: &'a Vault,
    pub links: &'a Links,
    pub zone: &'a Zone,
    pub now: Moment,
    /// Takes the number of files done and of all files, (0, 0) to report nothing; returns whether
    /// to continue.
    pub proceed: &'a dyn Fn(usize, usize) -> bool,
}
