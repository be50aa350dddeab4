package api

import (
	"context"
	"testing"
	"time"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/scheduler"
)

// TestHealthSaysInWordsWhatIsWrong, and by a code for programs, in the language of who asks.
func TestHealthSaysInWordsWhatIsWrong(t *testing.T) {
	t.Parallel()
	a := &API{Config: Config{Conditions: func() []scheduler.Condition {
		return []scheduler.Condition{{Key: scheduler.ConditionDue, Late: 3 * time.Second}, {Key: scheduler.ConditionStopping}}
	}}}
	for lang, want := range map[string][2]string{
		locales.English: {"Jobs of its share have been due for 3 s and are not claimed.", "It is stopping: it finishes what it has, and takes nothing new."},
		locales.Chinese: {"其负责的任务超过触发时间 3 秒，仍未认领。", "正在停止：只完成已有的运行，不再认领新的。"},
	} {
		h := a.health(context.WithValue(t.Context(), requestKey{}, &request{printer: locales.New().Printer(lang)}))
		for i, code := range []string{"due", "stopping"} {
			if c := h.Conditions[i]; c.Code != code || c.Text != want[i] || h.Ready {
				t.Errorf("%s: %+v", lang, c)
			}
		}
	}
}
