//go:build go1.26

package executor_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/executor"
	"github.com/punctual-job/punctual/executor/executortest"
	"github.com/punctual-job/punctual/executor/wire"
)

func TestAHandlerGivesOutputs(t *testing.T) {
	t.Parallel()
	b := setup(t, executortest.Handlers{"h": func(_ context.Context, run *executor.Run) error {
		if err := run.SetOutput("rows", "41"); err != nil {
			t.Error(err)
		}
		if err := run.SetOutput("rows", "42"); err != nil {
			t.Error(err)
		}
		if run.SetOutput("", "x") == nil || run.SetOutput(strings.Repeat("k", wire.MaxOutputKey+1), "x") == nil {
			t.Error("a key that is none was taken")
		}
		if run.SetOutput("large", strings.Repeat("v", wire.MaxOutputs)) == nil {
			t.Error("more than fits was taken")
		}
		return run.SetOutput("who", "password hunter22")
	}})
	req := request(1)
	req.Masks = []string{"hunter22"}
	b.mustRun(t, req)
	want := map[string]string{"rows": "42", "who": "password ***"}
	if got := b.admin.Result(t, 1).Outputs; !maps.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

func TestAScriptGivesOutputs(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	req := script(1, wire.GlueShell, `printf 'rows=42\r\n\nnonsense\nurl=a=b\n' >> "$PUNCTUAL_OUTPUT"; echo "file $PUNCTUAL_OUTPUT"; exit 1`)
	b.mustRun(t, req)
	if got, want := b.admin.Result(t, 1).Outputs, map[string]string{"rows": "42", "url": "a=b"}; !maps.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
	text := b.log(t, req)
	if !strings.Contains(text, "a line without = is left out: \"nonsense\"") {
		t.Errorf("the log does not say what is left out:\n%s", text)
	}
	_, file, _ := strings.Cut(text, "file ")
	file, _, _ = strings.Cut(file, "\n")
	if _, err := os.Stat(file); !filepath.IsAbs(file) || !os.IsNotExist(err) {
		t.Errorf("the file %q is left: %v", file, err)
	}
}
