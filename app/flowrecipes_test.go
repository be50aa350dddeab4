package app

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/punctual-job/punctual/scheduler/flow"
)

// TestTheRecipesHold reads the definitions of the manual's recipes, in every language.
func TestTheRecipesHold(t *testing.T) {
	t.Parallel()
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	kinds := make(map[flow.Kind]bool)
	for _, page := range []string{"../docs/flow-recipes.md", "../docs/zh-CN/flow-recipes.md"} {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := example.FindAllSubmatch(raw, -1)
		if len(found) != 5 {
			t.Errorf("%s has %d recipes", page, len(found))
		}
		for i, m := range found {
			def, err := flow.Parse(m[1])
			if err != nil {
				t.Errorf("%s, recipe %d: %v", page, i+1, err)
				continue
			}
			if _, faults := flow.Compile(def); len(faults) > 0 {
				t.Errorf("%s, recipe %d: %v", page, i+1, faults)
			}
			for s := range slices.Values(def.Steps) {
				kinds[s.Kind()] = true
			}
		}
	}
	if !kinds[flow.KindJob] || !kinds[flow.KindApprove] {
		t.Error(fmt.Sprint("the recipes have only ", kinds))
	}
}
