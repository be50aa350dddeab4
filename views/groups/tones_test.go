package groups

import (
	"os"
	"regexp"
	"testing"
)

// TestAddressesInTroubleHaveAColour: the badge of an address that is not simply there says so before it is read. Only one that nothing is
// known of, or that somebody took out, is gray.
func TestAddressesInTroubleHaveAColour(t *testing.T) {
	t.Parallel()
	sheet, err := os.ReadFile("../../static/src/css/badges.css")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range AddressStates {
		coloured := regexp.MustCompile(`&\.` + string(state) + `[ ,][^{]*\{ --tone`).Match(sheet)
		if want := state != AddressManual && state != AddressDisabled; coloured != want {
			t.Errorf("%s has a colour: %v, want %v", state, coloured, want)
		}
	}
}
