-- Read some lists as of one moment, each from a place down. KEYS: lists. ARGV: how many of each, below, list …
local found = {}
for n = 3, #ARGV do
  local head = '(' .. ARGV[n] .. '\0'
  found[n - 2] = redis.call('ZREVRANGEBYLEX', KEYS[1], head .. ARGV[2], head, 'LIMIT', 0, ARGV[1])
end
return found
