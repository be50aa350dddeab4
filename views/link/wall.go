package link

// WallPath is the wall board: what needs somebody, to be read from across a room.
const WallPath = "/wall"
