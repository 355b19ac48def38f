# To be read by a script: a root to install into, which is this machine's, seen through an overlay that is thrown away.

# Sets $scratch. Where that cannot be, says why; nothing was tried then, and the script is over.
scratch_root() {
  [ "$(id -u)" = 0 ] || { echo "not root: not tried"; exit 0; }
  layers=$(mktemp -d) scratch=$layers/scratch
  mount -t tmpfs tmpfs "$layers" 2>/dev/null && mkdir -p "$layers/upper" "$layers/work" "$scratch" &&
    mount -t overlay overlay -o "lowerdir=/,upperdir=$layers/upper,workdir=$layers/work" "$scratch" 2>/dev/null || {
    echo "no overlay can be mounted: not tried"; umount "$layers" 2>/dev/null; exit 0; }
  for folder in proc dev; do mount --rbind "/$folder" "$scratch/$folder"; done
}

scratch_end() {
  umount -l "$scratch/proc" "$scratch/dev" "$scratch" "$layers"
  rmdir "$layers"
}
