//! The one writer: every file this program changes is changed here, whole or not at all.
//!
//! A replacement is a hidden temporary file in the same folder, written, flushed to the disk,
//! renamed over the target, and the folder flushed. A reader of the target, at any moment and after
//! any crash, sees all of the old bytes or all of the new ones.
//!
//! | file | holds |
//! |---|---|
//! | `replace` | a file replaced by another, as a whole |
//! | `temporary` | new files under temporary names, and what a crash leaves of them |
//! | `files` | reading, creating and removing |
//! | `system` | what the operating system says of files, and system calls |

mod files;
mod replace;
mod system;
mod temporary;

pub use files::*;
pub use replace::*;
pub use system::*;
pub use temporary::*;
