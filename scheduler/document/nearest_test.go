package document

import "testing"

func TestWhatANameWasMeantToBe(t *testing.T) {
	t.Parallel()
	known := []string{"parameter_fixed", "parameter", "cron", "description", "at"}
	for wrong, want := range map[string]string{
		"crom": "cron", "paramter": "parameter", "param": "parameter", "parameter_": "parameter", "desc": "description", // short for it
		"pa": "", "de": "", "xyz": "", "": "", "meter": "",
	} {
		if got := Nearest(wrong, known); got != want {
			t.Errorf("%q was meant to be %q, want %q", wrong, got, want)
		}
	}
}
