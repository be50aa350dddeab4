package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"path"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3Config says where objects are kept that speak the protocol of S3.
type S3Config struct {
	Endpoint  string // host, or host:port
	Plain     bool   // http in place of https
	Region    string
	Bucket    string
	Prefix    string // before every name
	Key       string // empty with Secret: the machine's role
	Secret    string
	Transport http.RoundTripper // the default when nil
}

// s3Limit is how long a call is waited for by those who would wait longer: a server may take it and not answer.
const s3Limit = 30 * time.Second

// S3 keeps objects in a bucket.
type S3 struct {
	client *minio.Client
	cfg    S3Config
	limit  time.Duration
}

// NewS3 makes the store of a bucket, which has to be there. Nothing is called yet.
func NewS3(cfg S3Config) (*S3, error) {
	keys := credentials.NewIAM("")
	if cfg.Key != "" {
		keys = credentials.NewStaticV4(cfg.Key, cfg.Secret, "")
	}
	client, err := minio.New(cfg.Endpoint, &minio.Options{
		Creds: keys, Secure: !cfg.Plain, Region: cfg.Region, BucketLookup: minio.BucketLookupAuto, Transport: cfg.Transport, MaxRetries: 2,
	})
	if err != nil {
		return nil, fmt.Errorf("output store: %w", err)
	}
	return &S3{client: client, cfg: cfg, limit: s3Limit}, nil
}

// Name implements [Store].
func (s *S3) Name() string { return "s3" }

func (s *S3) key(object Object) string { return path.Join(s.cfg.Prefix, object.Name) }

// Put implements [Store].
func (s *S3) Put(ctx context.Context, object Object, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	_, err := s.client.PutObject(ctx, s.cfg.Bucket, s.key(object), bytes.NewReader(data), int64(len(data)), minio.PutObjectOptions{
		ContentType: "application/octet-stream", DisableMultipart: true,
	})
	return err
}

// Get implements [Store].
func (s *S3) Get(ctx context.Context, object Object, pos, size int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	var opts minio.GetObjectOptions
	if err := opts.SetRange(pos, pos+size-1); err != nil {
		return nil, err
	}
	body, info, _, err := (&minio.Core{Client: s.client}).GetObject(ctx, s.cfg.Bucket, s.key(object), opts)
	switch minio.ToErrorResponse(err).Code {
	case minio.NoSuchKey:
		return nil, ErrNoObject
	case minio.InvalidRange:
		return nil, errShort
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	if info.Size >= 0 && info.Size < size { // which is what there is of the part: an answer that breaks off has promised all of it
		return nil, errShort
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(body, data); err != nil {
		return nil, err
	}
	return data, nil
}

// Delete implements [Store].
func (s *S3) Delete(ctx context.Context, object Object) error {
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	err := s.client.RemoveObject(ctx, s.cfg.Bucket, s.key(object), minio.RemoveObjectOptions{})
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusForbidden, http.StatusMethodNotAllowed, http.StatusConflict:
		return fmt.Errorf("%w: %w", ErrHeld, err)
	}
	return err
}

// Check implements [Store].
func (s *S3) Check(ctx context.Context) error {
	if err := check(ctx, s, Object{Name: "check/" + rand.Text()}); err != nil {
		return fmt.Errorf("output store in the bucket %s at %s: %w", s.cfg.Bucket, s.cfg.Endpoint, err)
	}
	return nil
}
