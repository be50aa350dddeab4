package ui

import (
	"slices"
	"strings"
	"testing"
)

func TestStretchesOfNotes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want []Stretch
	}{
		{"", []Stretch{{"", false}}},
		{"http://a.example", []Stretch{{"http://a.example", true}}},
		{"见 https://a.example/x。", []Stretch{{"见 ", false}, {"https://a.example/x", true}, {"。", false}}},
		{"http://a.example/\u202egpj.exe", []Stretch{{"http://a.example/", true}, {"\u202egpj.exe", false}}},
		{"http://a.example/\u2066x", []Stretch{{"http://a.example/", true}, {"\u2066x", false}}},
		{"javascript:alert(1) data:text/html,x http://", []Stretch{{"javascript:alert(1) data:text/html,x http://", false}}},
	} {
		if got := Stretches(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %v, want %v", tt.text, got, tt.want)
		}
	}
}

// TestALinkReadsAsItLeads also behind a mark that turns the direction of writing around, as a note may have one.
func TestALinkReadsAsItLeads(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := Away("", "https://a.example").Render(t.Context(), &b); err != nil || !strings.Contains(b.String(), ` dir="ltr">https://a.example</a>`) {
		t.Errorf("%s, %v", &b, err)
	}
}
