package locales

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestOneWordForOneThing: a thing has one word, which the glossary names, and English is no other language word by word. What people may
// search for is under palette.also.
func TestOneWordForOneThing(t *testing.T) {
	t.Parallel()
	for lang, others := range map[string][]string{
		Chinese:     {"报警", "终止任务", "回填", "过期补偿"},
		Traditional: {"報警", "終止任務", "回填"},
		English:     {"Picked", "picked jobs", "picked runs", "As a table", `"Took`, "Going on", "anew after", "What fell in"},
	} {
		for key, message := range messages(t, lang) {
			raw, _ := json.Marshal(message)
			for _, other := range others {
				if strings.Contains(string(raw), other) && !strings.HasPrefix(key, "palette.also.") {
					t.Errorf("%s: %s says %q: %s", lang, key, other, raw)
				}
			}
		}
	}
}
