package locales

import "testing"

// TestAFaultOfAFlowWithoutAField names its step and line alone: a field that is not known is none that could be named.
func TestAFaultOfAFlowWithoutAField(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]map[string]string{
		"flow.error.at": {"en": "Step a (line 4): x", "zh-CN": "步骤 a（第 4 行）：x", "zh-TW": "步驟 a（第 4 行）：x"},
		"flow.error.in": {"en": "Line 4: x", "zh-CN": "第 4 行：x", "zh-TW": "第 4 行：x"},
	} {
		for lang, text := range want {
			if got := New().Printer(lang).T(key, "Step", "a", "Part", "", "Line", 4, "Text", "x"); got != text {
				t.Errorf("%s: %q, want %q", lang, got, text)
			}
		}
	}
	if got := New().Printer("en").T("flow.error.at", "Step", "a", "Part", "needs", "Line", 4, "Text", "x"); got != "Step a, needs (line 4): x" {
		t.Errorf("%q", got)
	}
}
