#!/bin/sh
# Builds kube-apiserver 1.20 from Debian's source package into DIRECTORY: no registry has it as a program. Takes 11 minutes
# of CPU, needs root and Debian, and leaves what exists alone.
#
#   build-kube-apiserver.sh DIRECTORY
set -eu

[ $# -eq 1 ] || { echo "usage: $0 DIRECTORY" >&2; exit 2; }
mkdir -p "$1"
cd "$1"
[ ! -x kube-apiserver ] || exit 0
sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/debian.sources > /etc/apt/sources.list.d/intentc-src.sources
apt-get update -qq
apt-get install -y -qq golang-go rsync jq dpkg-dev
apt-get source -qq --download-only kubernetes
rm -rf src
dpkg-source --no-check -x kubernetes_*.dsc src
cd src
# reflect2 1.0.1, which is vendored, crashes in iterations over maps when it is built with Go >= 1.18: 1.0.2's form.
(
    cd vendor/github.com/modern-go/reflect2
    python3 - <<'PY'
def replace(path, *pairs):
    with open(path) as file:
        text = file.read()
    for before, after in pairs:
        assert text.count(before) == 1, f"{path} is another version: {before}"
        text = text.replace(before, after)
    with open(path, "w") as file:
        file.write(text)


replace(
    "unsafe_map.go",
    ("	return &UnsafeMapIterator{\n		hiter:      mapiterinit(type2.rtype, *(*unsafe.Pointer)(obj)),\n",
     "	var it hiter\n	mapiterinit(type2.rtype, *(*unsafe.Pointer)(obj), &it)\n"
     "	return &UnsafeMapIterator{\n		hiter:      &it,\n"),
)
fields = ("t unsafe.Pointer", "h unsafe.Pointer", "buckets unsafe.Pointer", "bptr unsafe.Pointer",
          "overflow *[]unsafe.Pointer", "oldoverflow *[]unsafe.Pointer", "startBucket uintptr", "offset uint8",
          "wrapped bool", "B uint8", "i uint8", "bucket uintptr", "checkBucket uintptr")
replace(
    "unsafe_link.go",
    ("func mapiterinit(rtype unsafe.Pointer, m unsafe.Pointer) *hiter",
     "func mapiterinit(rtype unsafe.Pointer, m unsafe.Pointer, it *hiter)"),
    ("	// rest fields are ignored\n", "".join(f"	{field}\n" for field in fields)),
)
PY
)
GOFLAGS=-mod=vendor GO111MODULE=auto KUBE_GIT_VERSION=v1.20.2 KUBE_GIT_TREE_STATE=clean KUBE_GIT_COMMIT=abc \
    KUBE_GIT_MAJOR=1 KUBE_GIT_MINOR=20 make WHAT=cmd/kube-apiserver
mv _output/local/bin/linux/amd64/kube-apiserver ..
