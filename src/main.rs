//! The door: arguments in, exit code out. Everything else is in the library.

/// Of the static binaries; why not musl's own is said in Cargo.toml.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    vault_sync_mcp::commands::run(std::env::args_os().skip(1)).into()
}
