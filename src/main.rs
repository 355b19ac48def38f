//! The door: arguments in, exit code out. Everything else is in the library.

fn main() -> std::process::ExitCode {
    vault_sync_mcp::commands::run(std::env::args_os().skip(1)).into()
}
