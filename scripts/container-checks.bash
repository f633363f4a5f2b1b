# shellcheck shell=bash
# What scripts/check-images and scripts/check-packages have in common; both source it, and name their `binary` first. Where
# containers cannot be run, checks are skipped, and each says why.

# Nothing takes longer on a busy machine; what does, hangs.
readonly SECONDS_MAX=120
passed=0 failed=0 skipped=0
why_not="$(scripts/install-containers --why-not)"
readonly why_not
scratch="$(mktemp -d)"
readonly scratch
trap 'rm -rf "$scratch"' EXIT

# apart OPTION... begins the script again in namespaces of its own, those that the options of unshare add too, and so that all
# that it starts ends with it.
apart() {
    local folder folders started=$SECONDS
    [[ -z "$why_not" ]] || return 0
    if [[ -z "${WATCHBELL_APART:-}" ]]; then
        scripts/install-containers && scripts/stand-in-images || exit
        printf 'ready in %d s\n' $((SECONDS - started))
        rm -rf "$scratch"
        WATCHBELL_APART=yes exec unshare --pid --mount --fork --kill-child --mount-proc "$@" "$PWD/scripts/${0##*/}" "${binary:?}"
    fi
    PATH="$(scripts/install-containers --path):$PATH"
    trap clean_up EXIT
    # Images are kept; what podman knows of containers, volumes and networks begins and ends here. The process that podman
    # leaves with a container looks for some of it where nothing can be set.
    folders="$(podman info --format '{{.Store.RunRoot}}/.. {{.Store.GraphRoot}}/libpod {{.Store.GraphRoot}}/volumes')" || exit
    for folder in $folders /run/containers /run/netns; do
        mkdir -p "$folder" && mount -t tmpfs tmpfs "$folder" || exit
    done
    # Nothing is left of a script that was killed, and images of before go with what they were made from.
    {
        podman ps --all --external --quiet | xargs --no-run-if-empty podman rm --force
        podman image prune --force
    } >/dev/null 2>&1
}

# A container whose network another uses goes after that.
clean_up() {
    local containers=(podman rm --all --force --time 0)
    podman pod rm --all --force --time 0 >/dev/null
    { "${containers[@]}" || "${containers[@]}"; } >/dev/null 2>&1
    rm -rf "$scratch"
}

# image NAME prints it with the tag that the compose files ask for.
image() { sed -n "s#^ *image: \($1:.*\)#\1#p" deploy/compose/dev.yaml; }

# check NAME COMMAND... runs the command and says how it ended.
check() {
    local name=$1 log="$scratch/log" started=$SECONDS
    shift
    if [[ -n "$why_not" ]]; then
        printf 'skip  %-26s %s\n' "$name" "$why_not"
        skipped=$((skipped + 1))
    elif "$@" >"$log" 2>&1 </dev/null; then
        printf 'ok    %-26s %s (%d s)\n' "$name" "$(tail -n 1 "$log" | cut -c 1-100)" $((SECONDS - started))
        passed=$((passed + 1))
    else
        printf 'FAIL  %-26s (%d s)\n' "$name" $((SECONDS - started))
        sed 's/^/      /' "$log"
        failed=$((failed + 1))
    fi
}

# until_true COMMAND... runs it until it succeeds, and gives up after a while.
until_true() {
    local deadline=$((SECONDS + SECONDS_MAX))
    until "$@" >"$scratch/last" 2>&1; do
        if ((SECONDS > deadline)); then
            printf 'not within %d s: %s\n' "$SECONDS_MAX" "$*"
            cat "$scratch/last"
            return 1
        fi
        sleep 0.2
    done
}

# summary counts the checks, and fails if one did.
summary() {
    printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    ((failed == 0))
}
