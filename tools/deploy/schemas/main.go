// Command schemas writes the JSON schemas of the kinds of Kubernetes that deploy/ has, from the OpenAPI documents of a Kubernetes release
// as sigs.k8s.io/kubectl-validate carries them (Apache-2.0). Run it in this folder when deploy/ gets a kind or asks for a later release.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	source  = "sigs.k8s.io/kubectl-validate@v0.0.4"
	release = "1.30"
)

// kinds are where the documents have them: API version, document, definition.
var kinds = map[string][3]string{
	"ServiceAccount":      {"v1", "api/v1", "io.k8s.api.core.v1."},
	"Service":             {"v1", "api/v1", "io.k8s.api.core.v1."},
	"PodDisruptionBudget": {"policy/v1", "apis/policy/v1", "io.k8s.api.policy.v1."},
	"Deployment":          {"apps/v1", "apis/apps/v1", "io.k8s.api.apps.v1."},
	"StatefulSet":         {"apps/v1", "apis/apps/v1", "io.k8s.api.apps.v1."},
	"Ingress":             {"networking.k8s.io/v1", "apis/networking.k8s.io/v1", "io.k8s.api.networking.v1."},
}

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func write() error {
	out, err := exec.Command("go", "mod", "download", "-json", source).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	for kind, from := range kinds {
		text, err := os.ReadFile(filepath.Join(module.Dir, "pkg/openapiclient/builtins", release, from[1]+".json"))
		if err != nil {
			return err
		}
		var document struct {
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal(text, &document); err != nil {
			return err
		}
		name := from[2] + kind
		taken := make(map[string]any)
		take(name, document.Components.Schemas, taken)
		own := taken[name].(map[string]any)["properties"].(map[string]any)
		own["apiVersion"], own["kind"] = map[string]any{"const": from[0]}, map[string]any{"const": kind}
		schema, err := json.MarshalIndent(map[string]any{
			"$schema": "http://json-schema.org/draft-07/schema#", "$comment": "Kubernetes " + release + ", written by tools/deploy/schemas",
			"allOf":       []any{map[string]any{"$ref": "#/definitions/" + name}, map[string]any{"required": []string{"apiVersion", "kind", "metadata"}}},
			"definitions": taken,
		}, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join("testdata/schemas", strings.ToLower(kind)+".json"), append(schema, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// take copies a definition and all that it refers to.
func take(name string, all, taken map[string]any) {
	if _, ok := taken[name]; ok {
		return
	}
	taken[name] = nil // while its own parts are looked at, which may refer to it
	taken[name] = convert(all[name], all, taken)
	if strings.HasSuffix(name, ".Quantity") || strings.HasSuffix(name, ".IntOrString") {
		taken[name] = map[string]any{"type": []string{"string", "number"}}
	}
}

// convert makes JSON schema of what OpenAPI writes otherwise, leaves out what only people read, and allows no field that is not named:
// that is a misspelt one.
func convert(value any, all, taken map[string]any) any {
	switch value := value.(type) {
	case []any:
		converted := make([]any, len(value))
		for i := range value {
			converted[i] = convert(value[i], all, taken)
		}
		return converted
	case map[string]any:
		converted := make(map[string]any)
		for key, inner := range value {
			switch {
			case key == "$ref":
				name := strings.TrimPrefix(inner.(string), "#/components/schemas/")
				take(name, all, taken)
				converted[key] = "#/definitions/" + name
			case key == "properties":
				properties := make(map[string]any)
				for name, schema := range inner.(map[string]any) {
					properties[name] = convert(schema, all, taken)
				}
				converted[key] = properties
				converted["additionalProperties"] = false
			case key == "description" || key == "default" || key == "format" || strings.HasPrefix(key, "x-"):
			default:
				converted[key] = convert(inner, all, taken)
			}
		}
		return converted
	}
	return value
}
