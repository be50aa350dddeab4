package help

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler/cron"
	"github.com/punctual-job/punctual/views/layout"
)

// What the page gives as examples is read without a warning, and comes when it says.
func TestTheCronExamplesAreTrue(t *testing.T) {
	t.Parallel()
	after := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC) // a Saturday
	want := map[string]string{
		"0/10 * * * * ?": "2026-03-14 12:00:10 Sat", "0 */5 * * * ?": "2026-03-14 12:05:00 Sat", "0 30 9 ? * MON-FRI": "2026-03-16 09:30:00 Mon",
		"0 0 2 * * ?": "2026-03-15 02:00:00 Sun", "0 0 8,12,18 * * ?": "2026-03-14 18:00:00 Sat", "0 0/15 9-17 * * ?": "2026-03-14 12:15:00 Sat",
		"0 0 0 1 * ?": "2026-04-01 00:00:00 Wed", "0 0 23 L * ?": "2026-03-31 23:00:00 Tue", "0 0 6 LW * ?": "2026-03-31 06:00:00 Tue",
		"0 0 6 ? * 6#3": "2026-03-20 06:00:00 Fri", "0 0 0 1 1 ? 2030": "2030-01-01 00:00:00 Tue",
	}
	for _, text := range CronExamples() {
		e, err := cron.Parse(text)
		if err != nil || len(e.Warnings()) > 0 {
			t.Errorf("%s: %v", text, err)
			continue
		}
		next, err := e.Next(after, time.UTC)
		if got := next.Format("2006-01-02 15:04:05 Mon"); err != nil || got != want[text] {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want[text])
		}
	}
	for _, text := range []string{"0 0 0 15W * ?", "0 0 0 ? * 6L"} { // named beside the signs
		if _, err := cron.Parse(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestEverySectionHasItsAnchor(t *testing.T) {
	t.Parallel()
	for _, lang := range locales.Languages() {
		var page bytes.Buffer
		if err := Show(Page{Page: layout.Page{Printer: locales.New().Printer(lang), User: layout.User{Name: "ann"}}}).Render(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		doc, err := goquery.NewDocumentFromReader(&page)
		if err != nil {
			t.Fatal(err)
		}
		got := doc.Find(".help-text > section").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("id", "") })
		if !slices.Equal(got, Sections()) {
			t.Errorf("%s: sections %v, want %v", lang, got, Sections())
		}
	}
}

// Sections lists the anchors of the page.
func Sections() []string { return sections }

// CronExamples are the expressions that the page shows.
func CronExamples() []string {
	var all []string
	for _, e := range cronExamples {
		all = append(all, e.text)
	}
	return all
}
