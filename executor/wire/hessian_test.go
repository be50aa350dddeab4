//go:build go1.26

package wire

import (
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// What executors of 2.0.0 to 2.1.2 send and answer, byte for byte.
const (
	oldRegistration = "43302d636f6d2e78786c2e7270632e72656d6f74696e672e6e65742e706172616d732e58786c527063526571756573749809726571756573744964106372656174654d696c6c697354696d650b616363" +
		"657373546f6b656e09636c6173734e616d650a6d6574686f644e616d650776657273696f6e0e706172616d6574657254797065730a706172616d657465727360302437613066346130652d313131312d" +
		"343232322d383333332d3434343435353535363636364c0000018bcfe568000d64656661756c745f746f6b656e1d636f6d2e78786c2e6a6f622e636f72652e62697a2e41646d696e42697a0872656769" +
		"737472794e71105b6a6176612e6c616e672e436c617373430f6a6176612e6c616e672e436c61737391046e616d65613028636f6d2e78786c2e6a6f622e636f72652e62697a2e6d6f64656c2e52656769" +
		"73747279506172616d71075b6f626a656374433028636f6d2e78786c2e6a6f622e636f72652e62697a2e6d6f64656c2e5265676973747279506172616d930b72656769737447726f75700b7265676973" +
		"7472794b65790d726567697374727956616c756562084558454355544f521778786c2d6a6f622d6578656375746f722d73616d706c65113139322e3136382e312e31303a39393939"
	oldCallback = "43302d636f6d2e78786c2e7270632e72656d6f74696e672e6e65742e706172616d732e58786c527063526571756573749809726571756573744964106372656174654d696c6c697354696d650b616363" +
		"657373546f6b656e09636c6173734e616d650a6d6574686f644e616d650776657273696f6e0e706172616d6574657254797065730a706172616d657465727360302437613066346130652d313131312d" +
		"343232322d383333332d3434343435353535363636364c0000018bcfe568000d64656661756c745f746f6b656e1d636f6d2e78786c2e6a6f622e636f72652e62697a2e41646d696e42697a0863616c6c" +
		"6261636b4e71105b6a6176612e6c616e672e436c617373430f6a6176612e6c616e672e436c61737391046e616d65610e6a6176612e7574696c2e4c69737471075b6f626a6563747a43302e636f6d2e78" +
		"786c2e6a6f622e636f72652e62697a2e6d6f64656c2e48616e646c6543616c6c6261636b506172616d93056c6f6749640a6c6f674461746554696d0d65786563757465526573756c7462d410e14c0000" +
		"018bcfe56800433022636f6d2e78786c2e6a6f622e636f72652e62697a2e6d6f64656c2e52657475726e549304636f6465036d736707636f6e74656e7463c8c8026f6b4e62d410e24c0000018bcfe56b" +
		"e863c9f44e4e"
	oldError = "43302e636f6d2e78786c2e7270632e72656d6f74696e672e6e65742e706172616d732e58786c527063526573706f6e73659309726571756573744964086572726f724d736706726573756c7460302437" +
		"613066346130652d313131312d343232322d383333332d34343434353535353636363630205468652061636365737320746f6b656e5b6e756c6c5d2069732077726f6e672e4e"
)

func fromHex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOldCallsAreRecognised(t *testing.T) {
	t.Parallel()
	want := RegistryRequest{RegistryGroup: "EXECUTOR", RegistryKey: "xxl-job-executor-sample", RegistryValue: "192.168.1.10:9999"}
	if got, ok := DecodeOldCall(fromHex(t, oldRegistration)); !ok || got.RegistryKey != want.RegistryKey || got.RegistryValue != want.RegistryValue {
		t.Errorf("a registration reads as %+v, %t", got, ok)
	}
	if got, ok := DecodeOldCall(fromHex(t, oldCallback)); !ok || got.RegistryKey != "" {
		t.Errorf("a callback reads as %+v, %t", got, ok)
	}
	for _, body := range []string{"", "C", `{"registryGroup":"EXECUTOR"}`, "C com.xxl.job"} {
		if _, ok := DecodeOldCall([]byte(body)); ok {
			t.Errorf("%q is taken for the old protocol", body)
		}
	}
	whole := fromHex(t, oldRegistration)
	for n := range whole { // broken off anywhere
		DecodeOldCall(whole[:n])
	}
}

func TestOldExecutorsAreSaidToBeTooOld(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusOK, http.StatusInternalServerError} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write(fromHex(t, oldError))
		}))
		_, err := NewExecutorClient(nil).Run(t.Context(), Target{Address: server.URL}, &RunRequest{})
		if !errors.Is(err, ErrTooOld) || FaultOf(err) != FaultTooOld || Delivered(err) || err.Error() != ErrTooOld.Error() {
			t.Errorf("status %d: %v, maybe delivered %t", status, err, Delivered(err))
		}
		server.Close()
		if _, err = NewExecutorClient(nil).Run(t.Context(), Target{Address: server.URL, Dialect: DialectTooOld}, &RunRequest{}); !errors.Is(err, ErrTooOld) {
			t.Errorf("one that is known to be too old is called: %v", err)
		}
	}
	if text := ErrTooOld.Error(); !strings.Contains(text, "2.2.0") {
		t.Errorf("%q does not say what to do", text)
	}
}

func FuzzDecodeOldCall(f *testing.F) {
	for _, text := range []string{oldRegistration, oldCallback, oldError} {
		body, err := hex.DecodeString(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte("C com.xxl.rpc.\x08EXECUTOR\x33\xff"))
	f.Fuzz(func(t *testing.T, body []byte) {
		from, ok := DecodeOldCall(body)
		if ok != isHessian(body) || !ok && from.RegistryKey != "" {
			t.Fatalf("%q reads as %+v, %t", body, from, ok)
		}
		if (from.RegistryKey == "") != (from.RegistryValue == "") {
			t.Errorf("half of who sent %q: %+v", body, from)
		}
		for _, text := range []string{from.RegistryKey, from.RegistryValue} {
			if !utf8.ValidString(text) || len(text) > 1023 || !strings.Contains(string(body), text) {
				t.Errorf("%q is not a text of %q", text, body)
			}
		}
	})
}
