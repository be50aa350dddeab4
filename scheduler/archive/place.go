package archive

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/punctual-job/punctual/db"
)

// Place is where outputs are to be kept, as somebody wrote it.
type Place struct {
	off    bool
	folder string
	s3     *S3Config
}

// ParsePlace reads where outputs are to be kept: "database" or nothing, "off", the absolute path of a folder, or
// s3://KEY:SECRET@HOST:PORT/BUCKET/PREFIX with ?region=… and, for a server without TLS, ?plain=true. No error says what the secret is.
func ParsePlace(text string) (Place, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "" || text == "database":
		return Place{}, nil
	case text == "off":
		return Place{off: true}, nil
	case strings.HasPrefix(text, "s3://"):
		cfg, err := parseS3(text)
		return Place{s3: cfg}, err
	}
	if folder := strings.TrimPrefix(text, "file://"); filepath.IsAbs(folder) {
		return Place{folder: folder}, nil
	}
	return Place{}, errors.New("it must be database, off, the absolute path of a folder, or s3://KEY:SECRET@HOST/BUCKET/PREFIX")
}

func parseS3(text string) (*S3Config, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("what follows s3:// cannot be read; write %2F for a / in a key, and %2B for a +")
	}
	bucket, prefix, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	if u.Host == "" || bucket == "" {
		return nil, errors.New("s3:// must name a host and a bucket: s3://KEY:SECRET@HOST/BUCKET/PREFIX")
	}
	cfg := &S3Config{Endpoint: u.Host, Bucket: bucket, Prefix: prefix}
	if u.User != nil {
		cfg.Key = u.User.Username()
		cfg.Secret, _ = u.User.Password()
		if cfg.Key == "" || cfg.Secret == "" {
			return nil, errors.New("a key and its secret go together: s3://KEY:SECRET@HOST/BUCKET; without both the machine's role is used")
		}
	}
	for name, values := range u.Query() {
		switch name {
		case "region":
			cfg.Region = values[0]
		case "plain":
			cfg.Plain = values[0] == "true"
		default:
			return nil, fmt.Errorf("%s is not known after s3://: there are region and plain", name)
		}
	}
	return cfg, nil
}

// Remote says whether outputs are kept on a server of others.
func (p Place) Remote() bool { return p.s3 != nil }

// Open makes the store of a place; nil for none.
func (p Place) Open(pool *db.Pool) (Store, error) {
	switch {
	case p.off:
		return nil, nil
	case p.s3 != nil:
		return NewS3(*p.s3)
	case p.folder != "":
		return OpenFolder(p.folder)
	}
	return NewDatabase(pool), nil
}
