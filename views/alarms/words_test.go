package alarms

import (
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
	"github.com/punctual-job/punctual/views/link"
)

// TestWhatNobodyTriedToSendIsNotSentAgain: the button of a message says whether it would be the first try.
func TestWhatNobodyTriedToSendIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for lang, words := range map[string][2]string{"en": {"Send now", "Send again"}, "zh-CN": {"立即发送", "重新发送"}} {
		for tries, want := range []string{words[0], words[1]} {
			m := Message{ID: 9, State: link.MessageWaiting, Tries: tries, Job: "Close the day", JobID: 7, Cause: "failed", CanRetry: true}
			var b strings.Builder
			if err := messageRow(layout.Page{Printer: locales.New().Printer(lang)}, m).Render(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			_, form, _ := strings.Cut(b.String(), `action="`+link.AlarmMessageRetry(m.ID)+`"`)
			form, _, _ = strings.Cut(form, "</form>")
			if strings.Count(form, want) != 2 || strings.Contains(form, words[1-tries]) { // in its label and to be seen
				t.Errorf("%s, %d tries: %s", lang, tries, form)
			}
		}
	}
}
