//go:build go1.26

package executor

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/punctual-job/punctual/executor/wire"
)

func TestTheRegistrationNamesHandlersWhoseParameterIsCode(t *testing.T) {
	t.Parallel()
	e, err := New(Config{AppName: "orders", DataDir: t.TempDir(), Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	nothing := func(context.Context, *Run) error { return nil }
	if raw, _ := json.Marshal(e.registration()); string(raw) != `{"registryGroup":"EXECUTOR","registryKey":"orders","registryValue":"","takesEnvironment":true}` {
		t.Errorf("without such a handler it is %s", raw)
	}
	e.Handle("plain", nothing)
	e.HandleWith("runIt", HandlerSpec{Run: nothing, ParamIsCode: true})
	raw, _ := json.Marshal(e.registration())
	back, err := wire.DecodeRegistry(raw)
	if err != nil || !slices.Equal(back.CodeHandlers, []string{"runIt"}) {
		t.Errorf("it is %s, read as %+v (%v)", raw, back, err)
	}
}
