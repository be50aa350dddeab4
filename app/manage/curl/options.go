package curl

import "strings"

// option is one of curl's, by its long name.
type option struct {
	name  string
	value bool // it takes one
}

var shorts = map[rune]option{
	'A': {"user-agent", true}, 'b': {"cookie", true}, 'C': {"continue-at", true}, 'c': {"cookie-jar", true}, 'D': {"dump-header", true}, 'd': {"data", true},
	'e': {"referer", true}, 'E': {"cert", true}, 'F': {"form", true}, 'H': {"header", true}, 'K': {"config", true}, 'm': {"max-time", true}, 'o': {"output", true},
	'P': {"ftp-port", true}, 'Q': {"quote", true}, 'r': {"range", true}, 'T': {"upload-file", true}, 't': {"telnet-option", true}, 'u': {"user", true},
	'U': {"proxy-user", true}, 'w': {"write-out", true}, 'x': {"proxy", true}, 'X': {"request", true}, 'y': {"speed-time", true}, 'Y': {"speed-limit", true},
	'z': {"time-cond", true},
	'0': {"http1.0", false}, '1': {"tlsv1", false}, '2': {"sslv2", false}, '3': {"sslv3", false}, '4': {"ipv4", false}, '6': {"ipv6", false}, 'a': {"append", false},
	'B': {"use-ascii", false}, 'f': {"fail", false}, 'g': {"globoff", false}, 'G': {"get", false}, 'i': {"include", false}, 'I': {"head", false},
	'j': {"junk-session-cookies", false}, 'J': {"remote-header-name", false}, 'k': {"insecure", false}, 'l': {"list-only", false}, 'L': {"location", false},
	'M': {"manual", false}, 'n': {"netrc", false}, 'N': {"no-buffer", false}, 'O': {"remote-name", false}, 'p': {"proxytunnel", false}, 'q': {"disable", false},
	'R': {"remote-time", false}, 's': {"silent", false}, 'S': {"show-error", false}, 'v': {"verbose", false}, 'V': {"version", false}, 'Z': {"parallel", false},
	'#': {"progress-bar", false},
}

// longs are those that have no short one, or are another spelling of one.
var longs = options(`abstract-unix-socket alt-svc aws-sigv4 cacert capath cert-type ciphers connect-timeout connect-to create-file-mode crlfile curves data-ascii
data-binary data-raw data-urlencode delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url ech egd-file engine etag-compare etag-save
expect100-timeout form-string ftp-account ftp-alternative-to-user ftp-method ftp-ssl-ccc-mode happy-eyeballs-timeout-ms haproxy-clientip hostpubmd5 hostpubsha256
hsts interface ip-tos ipfs-gateway json keepalive-cnt keepalive-time key key-type krb libcurl limit-rate local-port login-options mail-auth mail-from mail-rcpt
max-filesize max-redirs netrc-file noproxy oauth2-bearer output-dir parallel-max pass pinnedpubkey preproxy proto proto-default proto-redir proxy-cacert
proxy-capath proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass proxy-pinnedpubkey proxy-service-name
proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser proxy1.0 pubkey random-file rate request-target resolve retry retry-delay retry-max-time
sasl-authzid service-name socks4 socks4a socks5 socks5-gssapi-service socks5-hostname stderr tftp-blksize tls-max tls13-ciphers tlsauthtype tlspassword tlsuser
trace trace-ascii trace-config unix-socket url url-query variable vlan-priority`, true,
	options(`anyauth basic ca-native cert-status compressed compressed-ssh create-dirs crlf digest disable-eprt disable-epsv disallow-username-in-url
doh-cert-status doh-insecure fail-early fail-with-body false-start form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc ftp-ssl-control
haproxy-protocol http0.9 http1.1 http2 http2-prior-knowledge http3 http3-only ignore-content-length keepalive location-trusted mail-rcpt-allowfails metalink mptcp
negotiate netrc-optional next no-alpn alpn buffer clobber no-clobber no-keepalive no-npn npn no-progress-meter progress-meter no-sessionid sessionid ntlm ntlm-wb parallel-immediate
path-as-is post301 post302 post303 proxy-anyauth proxy-basic proxy-ca-native proxy-digest proxy-http2 proxy-insecure proxy-negotiate proxy-ntlm
proxy-ssl-allow-beast proxy-ssl-auto-client-cert proxy-tlsv1 raw remote-name-all remove-on-error retry-all-errors retry-connrefused sasl-ir skip-existing socks5-basic
socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast ssl-auto-client-cert ssl-no-revoke ssl-reqd ssl-revoke-best-effort styled-output suppress-connect-headers
tcp-fastopen tcp-nodelay tftp-no-options tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 tr-encoding trace-ids trace-time xattr`, false, shortsByName()))

func options(names string, value bool, into map[string]option) map[string]option {
	for name := range strings.FieldsSeq(names) {
		into[name] = option{name, value}
	}
	return into
}

func shortsByName() map[string]option {
	byName := make(map[string]option, len(shorts))
	for _, o := range shorts {
		byName[o.name] = o
	}
	return byName
}

// lookUp finds a long option. Each that takes no value can be switched off with no-, which an HTTP job has nothing of.
func lookUp(name string) (option, bool) {
	if o, ok := longs[name]; ok {
		return o, true
	}
	off, cut := strings.CutPrefix(name, "no-")
	o, ok := longs[off]
	return option{name: name}, cut && ok && !o.value
}

// asWeDo are the options that say what an HTTP job does anyway, or how curl talks to a terminal.
var asWeDo = []string{
	"fail", "fail-with-body", "location", "compressed", "silent", "show-error", "verbose", "include", "no-buffer", "progress-bar", "no-progress-meter", "basic",
	"styled-output", "no-styled-output", "disable",
}
