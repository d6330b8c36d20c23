# Runs the program as its image would run it, without an image and without changing anything of the machine: in a mount
# namespace of its own, with a root of its own, read-only, that holds what the last stage of the Dockerfile holds and
# what the kubelet mounts.
#
# Usage: unshare --mount --propagation private sh e2e-image.sh ROOT NODE BUNDLE MOUNTS USERSPEC ARG...
#   ROOT      empty folder that becomes the root; outside of the namespace it stays empty
#   NODE      the Node binary
#   BUNDLE    folder with the bundle, as `npm run build` makes it
#   MOUNTS    folder whose contents appear below the root
#   USERSPEC  uid:gid to run as; empty: as the user that runs this
#
# The process that runs this becomes the program: its id stays the same.
set -eu
root=$1 node=$2 bundle=$3 mounts=$4 userspec=$5
shift 5

mount -t tmpfs -o mode=0755 tmpfs "$root"

# The base image: the libraries that Node links, and what every container has. Where /lib is a link, it is one here too.
mkdir -p "$root/usr/local/bin" "$root/dev" "$root/proc"
for libraries in /usr/lib /usr/lib64 /lib /lib64; do
  if [ -L "$libraries" ]; then
    cp -P "$libraries" "$root$libraries"
  elif [ -d "$libraries" ]; then
    mkdir -p "$root$libraries"
    mount --rbind "$libraries" "$root$libraries"
  fi
done
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"

# Our stage.
touch "$root/usr/local/bin/node"
mount --bind "$node" "$root/usr/local/bin/node"
cp -R "$bundle" "$root/app"

# The kubelet: files belong to the group of the pod's security context, and no other user may read them.
cp -R "$mounts/." "$root/"
if [ -n "$userspec" ]; then
  (cd "$mounts" && find . -type f) | while read -r file; do
    chown "0:${userspec#*:}" "$root/$file"
    chmod 0440 "$root/$file"
  done
fi
mount -o remount,bind,ro "$root"

exec setpriv --no-new-privs chroot ${userspec:+"--userspec=$userspec"} "$root" /usr/local/bin/node /app/endpoint-operator.js "$@"
