#!/bin/sh
# Roles in etcd for intentc: each process gets the permissions that it needs, and no others.
#
#   etcd-roles.sh PATH INSTALLATION                    from a checkout
#   intentc etcd-roles | sh -s PATH INSTALLATION       from an installed package
#
# PATH is etcd.path ("contrail"), INSTALLATION is intentc.installation ("default"). etcdctl's own variables select the etcd and
# the user (ETCDCTL_ENDPOINTS, ETCDCTL_USER, ETCDCTL_CACERT ...). Safe to run again.
#
#   intentc-INSTALLATION        for `intentc run` and `intentc kubernetes`: reads the resources, writes only its own keys, and claims PATH
#   intentc-apiserver-PATH      for `intentc apiserver`: reads and writes the resources and its own keys (index, pools, tokens),
#                               and reads who leads
#
# Create the users yourself, for example as follows; etcd authenticates nobody until a user root exists:
#   etcdctl user add root && etcdctl user grant-role root root
#   etcdctl user add intentc && etcdctl user grant-role intentc intentc-default
#   etcdctl user add apiserver && etcdctl user grant-role apiserver intentc-apiserver-contrail
#   etcdctl auth enable
set -eu

[ $# -eq 2 ] || { echo "usage: etcd-roles.sh PATH INSTALLATION" >&2; exit 2; }
path=$1
installation=$2
for word in "$path" "$installation"; do
    case $word in
        '' | *[!A-Za-z0-9._-]*) echo "$0: '$word' is neither a path nor an installation" >&2; exit 2 ;;
    esac
done

export ETCDCTL_API=3

role() {
    etcdctl role get "$1" >/dev/null 2>&1 || etcdctl role add "$1" >/dev/null
}

# A prefix ends in a slash, so its end is the same with the character after the slash: contrail/ does not cover
# contrail-backup/.
allow() {
    etcdctl role grant-permission "$1" "$2" "/$3/" "/${3}0" >/dev/null
}

compiler=intentc-$installation
role "$compiler"
allow "$compiler" read "$path"
allow "$compiler" readwrite "intentc/$installation"
allow "$compiler" readwrite "intentc/synced/$path"
allow "$compiler" readwrite "intentc/problems/$path"
etcdctl role grant-permission "$compiler" readwrite "/intentc/claims/$path" >/dev/null

server=intentc-apiserver-$path
role "$server"
allow "$server" readwrite "$path"
allow "$server" readwrite "intentc/apiserver/$path"
etcdctl role grant-permission "$server" read "/intentc/$installation/leader" >/dev/null
etcdctl role grant-permission "$server" read "/intentc/$installation/kubernetes/leader" >/dev/null

echo "$compiler"
echo "$server"
