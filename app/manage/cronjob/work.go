package cronjob

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/punctual-job/punctual/app/manage/curl"
	"github.com/punctual-job/punctual/executor/wire"
	"github.com/punctual-job/punctual/scheduler/jobspec"
	"github.com/punctual-job/punctual/scheduler/secret"
)

// work is what a run does: the command of the only container.
func (o *one) work(pod node) {
	containers := pod.list("containers")
	if len(containers) != 1 || pod.has("initContainers") {
		o.leave("its Pod has %d containers and %d that come first: a run is one command here. With --pods Kubernetes runs the Pod as before", len(containers), len(pod.list("initContainers")))
		return
	}
	container := containers[0]
	command, ok := container.texts("command")
	args, fine := container.texts("args")
	image := container.text("image")
	if isCurl := curlImage.MatchString(image); isCurl && len(command) == 0 && len(args) > 0 {
		command = []string{"curl"} // which its entrypoint calls
	}
	if !ok || !fine || len(command) == 0 {
		o.leave("it has no command, and what the image %s begins with does not stand in the manifest. Write it as the command, or use --pods", shown(image))
		return
	}
	words := append(command, args...)
	variables, head := o.environment(container)
	if o.HTTP != "" && o.call(words, variables) {
		return
	}
	o.lost(pod, container, image)
	o.script(commandScript(words, container.text("workingDir"), variables, head))
}

// curlImage is an image that calls curl.
var curlImage = regexp.MustCompile(`(^|/)curl(images/curl)?(:|@|$)`)

// lost names what the Pod had and the machine of the executor may not have.
func (o *one) lost(pod, container node, image string) {
	list := []string{"image " + shown(image)}
	for _, name := range []string{"volumes", "serviceAccountName", "securityContext", "nodeSelector", "affinity", "tolerations", "hostNetwork", "priorityClassName"} {
		if pod.has(name) {
			list = append(list, name)
		}
	}
	for _, name := range []string{"resources", "lifecycle"} {
		if container.has(name) {
			list = append(list, name)
		}
	}
	o.note("its command runs on the machine of the executor, without what the Pod had: %s", strings.Join(list, ", "))
}

// variableName is one that a shell can set.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// environment is what the container's variables become: their names, and the lines of a script that set them. What the cluster keeps is asked for by
// name: a secret of Punctual's, or the environment of the executor.
func (o *one) environment(container node) (names []string, head []string) {
	if container.has("envFrom") {
		o.note("the variables of envFrom are not there: set them in the environment of the executor, or as secrets")
	}
	var secrets []string
	for _, v := range container.list("env") {
		name, from := v.text("name"), v.at("valueFrom")
		if !variableName.MatchString(name) {
			o.note("the variable %q is left out: a shell cannot set it", shown(name))
			continue
		}
		switch key := from.at("secretKeyRef"); {
		case !v.has("valueFrom"):
			head = append(head, "export "+name+"="+expanded(v.text("value"), names))
		case key.Node != nil && secretName(key) != "":
			secrets = append(secrets, fmt.Sprintf("# punctual:env %s=${{ secrets.%s }}", name, secretName(key)))
			o.note("%s comes from the secret %s of the executor %s: set it with `punctual secrets set %[3]s %[2]s`", name, secretName(key), o.AppName)
		default:
			head = append(head, fmt.Sprintf(": \"${%s:?is not set: Kubernetes took it from elsewhere}\"", name))
			o.note("%s has its value from the cluster: set it in the environment of the executor", name)
		}
		names = append(names, name)
	}
	return names, append(secrets, head...)
}

// secretName is that of a secret of Punctual's for a key of one of Kubernetes'.
func secretName(key node) string {
	name := strings.ToUpper(key.text("name") + "_" + key.text("key"))
	name = strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	if !secret.IsName(name) {
		return ""
	}
	return name
}

// reference is a variable in a word of a command, which Kubernetes puts in; of one that it does not know it leaves the text. Two dollars are one.
var reference = regexp.MustCompile(`\$\$|\$\([^()]*\)`)

// quoted is a text as bash reads it.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// expanded is a word of a command as bash reads it.
func expanded(word string, names []string) string {
	var b strings.Builder
	quote := func(text string) {
		if text != "" {
			b.WriteString(quoted(text))
		}
	}
	rest := word
	for {
		at := reference.FindStringIndex(rest)
		if at == nil {
			break
		}
		found := rest[at[0]:at[1]]
		name := strings.TrimSuffix(strings.TrimPrefix(found, "$("), ")")
		switch {
		case found == "$$":
			quote(rest[:at[0]] + "$")
		case slices.Contains(names, name):
			quote(rest[:at[0]])
			b.WriteString(`"$` + name + `"`)
		default:
			quote(rest[:at[1]])
		}
		rest = rest[at[1]:]
	}
	if quote(rest); b.Len() == 0 {
		return "''"
	}
	return b.String()
}

// positional is what means another thing in a script than behind sh -c.
var positional = regexp.MustCompile(`\$[0-9@*#]|\$\{[0-9@*#]`)

// commandScript runs a command with its variables. What a shell is given behind -c is the script itself.
func commandScript(words []string, dir string, names, head []string) string {
	var b strings.Builder
	b.WriteString("#!/bin/bash\n")
	for _, line := range head {
		b.WriteString(line + "\n")
	}
	if dir != "" {
		b.WriteString("cd " + quoted(dir) + " || exit\n")
	}
	if len(words) == 3 && slices.Contains([]string{"sh", "bash"}, path.Base(words[0])) && words[1] == "-c" && !positional.MatchString(words[2]) && !reference.MatchString(words[2]) {
		return b.String() + strings.TrimRight(words[2], "\n") + "\n"
	}
	b.WriteString("exec")
	for _, word := range words {
		b.WriteString(" " + expanded(word, names))
	}
	return b.String() + "\n"
}

// call makes an HTTP job of a command that is one call of curl and needs nothing of the container. It says whether it did.
func (o *one) call(words, variables []string) bool {
	text := ""
	switch {
	case len(variables) > 0:
		return false
	case len(words) == 3 && slices.Contains([]string{"sh", "bash"}, path.Base(words[0])) && words[1] == "-c":
		text = words[2]
	default:
		for _, word := range words {
			text += expanded(word, nil) + " "
		}
	}
	got, err := curl.Parse(text)
	if err != nil || slices.ContainsFunc(got.Notes, func(n curl.Note) bool { return n.Kind != curl.LeftOut && n.Kind != curl.Own }) {
		return false
	}
	param := got.Param
	if limit, _ := strconv.ParseInt(o.values.Get("timeout_seconds"), 10, 64); limit > 0 { // curl has no limit of its own
		var call map[string]any
		if json.Unmarshal([]byte(param), &call) != nil {
			return false
		}
		if _, said := call["timeout"]; !said {
			call["timeout"] = min(limit, 3600) * 1000
		}
		raw, err := json.Marshal(call)
		if err != nil {
			return false
		}
		param = string(raw)
	}
	if got.Retries >= 0 && o.values.Get("retries") == "" {
		o.set(jobspec.FieldRetries, strconv.Itoa(got.Retries))
	}
	o.set(jobspec.FieldHandler, "httpJobHandler")
	o.set(jobspec.FieldParam, param)
	o.set(jobspec.FieldGlue, string(wire.GlueBean))
	o.note("it is an HTTP job: an answer of 4xx or 5xx is a failure, which curl without -f takes for success. Addresses inside of the cluster have to be allowed (PUNCTUAL_HTTP_ALLOW)")
	return true
}

// podScript has Kubernetes start a Job of the CronJob, shows its output, and ends as it does. What ends the run ends the Job.
func (o *one) podScript() string {
	kubectl := "kubectl"
	if o.namespace != "" {
		kubectl += " --namespace " + o.namespace
	}
	return strings.NewReplacer("KUBECTL", kubectl, "CRONJOB", o.name).Replace(`#!/bin/bash
set -euo pipefail
job=CRONJOB-$PUNCTUAL_LOG_ID
k() { KUBECTL "$@"; }
trap 'k delete job "$job" --wait=false; exit 143' TERM
k create job "$job" --from=cronjob/CRONJOB
k logs --follow --pod-running-timeout=10m "job/$job" &
wait $! || true
silent=0
until [[ ${state:-} == *Complete* ]]; do
  sleep 2
  if state=$(k get job "$job" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}'); then
    silent=0
  elif (( ++silent == 30 )); then
    echo "nothing is known of the job $job" >&2
    exit 1
  fi
  [[ ${state:-} != *Failed* ]] || exit 1
done
`)
}
