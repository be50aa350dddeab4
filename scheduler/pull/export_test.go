package pull

// The bounds that tests go up to.
const (
	MaxWaiting      = maxWaiting
	MaxWaitingBytes = maxWaitingBytes
	MaxAllWaiting   = maxAllWaiting
)
