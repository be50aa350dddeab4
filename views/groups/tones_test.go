package groups

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/punctual-job/punctual/locales"
	"github.com/punctual-job/punctual/views/layout"
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

// TestTheStatesOfManyAddressesAreCounted above their rows, the usual one first.
func TestTheStatesOfManyAddressesAreCounted(t *testing.T) {
	t.Parallel()
	page := DetailPage{Page: layout.Page{Printer: locales.New().Printer(locales.English)}, ID: 7}
	for i := range 300 {
		state := AddressOnline
		if i%100 == 7 {
			state = AddressOffline
		}
		page.Addresses = append(page.Addresses, Address{URL: "http://10.1.0.1:9999/", State: state})
	}
	for n, want := range map[int]string{300: "Online 297 · Offline 3", 7: "Online 7", 1: ""} {
		page.Addresses = page.Addresses[:n:300]
		var b strings.Builder
		if err := AddressesSwap(page).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		_, text, found := strings.Cut(b.String(), `<p class="small muted card-text">`)
		if text, _, _ = strings.Cut(text, "<"); found != (want != "") || text != want {
			t.Errorf("of %d addresses it says %q, want %q", n, text, want)
		}
		page.Addresses = page.Addresses[:300]
	}
}
