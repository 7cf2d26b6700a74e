-- Read parts of some lists as of one moment. KEYS: lists. ARGV: command, how many of each, number of lists, list …,
-- from, to … in each list.
local found, lists = {}, 3 + ARGV[3]
for n = 4, lists do
  local head = '(' .. ARGV[n] .. '\0'
  for m = lists + 1, #ARGV, 2 do
    found[#found + 1] = redis.call(ARGV[1], KEYS[1], head .. ARGV[m], head .. ARGV[m + 1], 'LIMIT', 0, ARGV[2])
  end
end
return found
