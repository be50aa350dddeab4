package sqlite

import "strings"

// tokenKind tells apart what the rewriter has to know; everything it does not change is a symbol.
type tokenKind uint8

const (
	tokenEnd     tokenKind = iota
	tokenWord              // keyword, bare identifier or number
	tokenText              // '…' or "…"
	tokenQuoted            // `…`
	tokenHash              // a # comment, which SQLite does not know
	tokenSymbol            // one byte, or <=>
	tokenMarker            // ?
	tokenInvalid           // a literal or comment without an end
)

type token struct {
	kind       tokenKind
	start, end int
}

// scanner splits a statement into tokens. White space and the comments both databases know are skipped;
// nothing inside a literal or a comment is ever looked at.
type scanner struct {
	src string
	pos int
}

func (s *scanner) next() token {
	for s.pos < len(s.src) {
		c := s.src[s.pos]
		start := s.pos
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			s.pos++
		case c == '-' && s.lineComment():
			s.skipLine()
		case c == '#':
			s.skipLine()
			return token{tokenHash, start, s.pos}
		case c == '/' && strings.HasPrefix(s.src[s.pos:], "/*"):
			n := strings.Index(s.src[s.pos+2:], "*/")
			if n < 0 {
				s.pos = len(s.src)
				return token{tokenInvalid, start, s.pos}
			}
			s.pos += n + 4
		case c == '\'' || c == '"' || c == '`':
			return s.quoted(c)
		case isWord(c):
			for s.pos < len(s.src) && isWord(s.src[s.pos]) {
				s.pos++
			}
			return token{tokenWord, start, s.pos}
		case c == '?':
			s.pos++
			return token{tokenMarker, start, s.pos}
		default:
			s.pos++
			if strings.HasPrefix(s.src[start:], "<=>") {
				s.pos = start + 3
			}
			return token{tokenSymbol, start, s.pos}
		}
	}
	return token{tokenEnd, s.pos, s.pos}
}

// lineComment follows MySQL: two dashes begin a comment only before white space or the end; "5--2" is arithmetic.
// SQLite would begin one there too, which [Rewrite] refuses rather than change what a statement means.
func (s *scanner) lineComment() bool {
	rest := s.src[s.pos:]
	return strings.HasPrefix(rest, "--") && (len(rest) == 2 || strings.IndexByte(" \t\r\n", rest[2]) >= 0)
}

func (s *scanner) skipLine() {
	if n := strings.IndexByte(s.src[s.pos:], '\n'); n >= 0 {
		s.pos += n
		return
	}
	s.pos = len(s.src)
}

// quoted reads to the closing quote; a doubled quote stands for itself.
func (s *scanner) quoted(q byte) token {
	start := s.pos
	kind := tokenText
	if q == '`' {
		kind = tokenQuoted
	}
	for s.pos++; s.pos < len(s.src); s.pos++ {
		if s.src[s.pos] != q {
			continue
		}
		s.pos++
		if s.pos == len(s.src) || s.src[s.pos] != q {
			return token{kind, start, s.pos}
		}
	}
	return token{tokenInvalid, start, s.pos}
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
