//! All resource limits, each defined once, with the unit in its name or type and the reason in its
//! comment. (The valid ranges of settings are in `config`.)
//!
//! A peer, a model or a vault may be arbitrarily large, slow or hostile; these limits bound what it
//! can cost.

mod agent;
mod commands;
mod git;
mod http;
mod mcp;
mod oauth;
mod search;
mod tools;
mod vault;

pub use agent::*;
pub use commands::*;
pub use git::*;
pub use http::*;
pub use mcp::*;
pub use oauth::*;
pub use search::*;
pub use tools::*;
pub use vault::*;
