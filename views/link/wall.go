package link

// WallPath is the wall board: what needs somebody, to be read from across a room.
const WallPath = "/wall"

// MineFailedPath tells the script of each page which of its reader's own jobs have failed.
const MineFailedPath = "/mine/failed"
