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
		Chinese:     {"报警", "终止任务", "回填", "过期补偿", "触发对账", "未来领取", "启动其他任务", "处理器", "准时自带"},
		Traditional: {"報警", "終止任務", "回填", "觸發對帳", "未來領取", "啟動其他任務", "筆排程等", "處理器名稱", "通道", "存取權杖", "略過", "計劃", "表達式", "駁回", "批准", "簽名", "“"},
		English:     {"Picked", "picked jobs", "picked runs", "As a table", `"Took`, "Going on", "anew after", "What fell in", "no longer counts", "counts for nothing", "2006-01-02"},
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
