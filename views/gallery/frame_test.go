package gallery

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/palette"
)

// TestTheFrameHasTheColourOfThePage: what a browser draws around a page, or around the installed program, is as light or dark as the page.
func TestTheFrameHasTheColourOfThePage(t *testing.T) {
	t.Parallel()
	tokens, err := os.ReadFile("../../static/src/css/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	canvas := regexp.MustCompile(`--canvas: light-dark\((#\w+), (#\w+)\)`).FindSubmatch(tokens)
	if canvas == nil {
		t.Fatal("no canvas among the tokens")
	}
	light, dark := string(canvas[1]), string(canvas[2])
	for theme, want := range map[layout.Theme][]string{
		layout.ThemeLight: {light}, layout.ThemeDark: {dark},
		layout.ThemeAuto: {"(prefers-color-scheme: light) " + light, "(prefers-color-scheme: dark) " + dark},
	} {
		f := fakes{Printer: locales.New().Printer(locales.English), theme: theme, now: time.Now()}
		var buf bytes.Buffer
		if err := palette.Keys(f.page("/keys")).Render(t.Context(), &buf); err != nil {
			t.Fatal(err)
		}
		doc, err := goquery.NewDocumentFromReader(&buf)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		doc.Find(`meta[name="theme-color"]`).Each(func(_ int, s *goquery.Selection) {
			said := s.AttrOr("content", "")
			if media := s.AttrOr("media", ""); media != "" {
				said = media + " " + said
			}
			got = append(got, said)
		})
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", theme, got, want)
		}
	}
}
