package jobspec

import (
	"fmt"
	"testing"
)

func TestExpressionCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := expressionCache{limit: 10}
	for i := range 60 {
		text := fmt.Sprintf("%d * * * * ?", i)
		for range 2 {
			e, err := c.parse(text)
			if err != nil || e.String() != text {
				t.Fatalf("got %v, %v, want %q", e, err, text)
			}
		}
		if len(c.parsed) > 10 {
			t.Fatalf("%d texts kept, want 10 at most", len(c.parsed))
		}
	}
	if _, err := c.parse("nonsense"); err == nil {
		t.Error("nonsense was parsed")
	}
}
